package pods_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/rest"
)

// A gang has a headless Service, which is created with the permissions of the chart and deleted
// with its Job. A single pod has none.
func TestAGangHasAServiceAndASinglePodNone(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	m.stop()
	m.as("meeting", namespaced()...)
	m.start()
	gang := m.submit(program{Forever: true}, slots(16))
	single := m.submit(program{Forever: true}, nil)
	w := m.await(gang, "two pods run", runs(2))
	m.await(single, "it runs", runs(1))
	hosts := slices.Collect(maps.Values(w.hosts))
	if len(hosts) != 2 || hosts[0] != "127.0.0.1" || hosts[1] != "127.0.0.1" {
		t.Errorf("got hosts %q, want the addresses of both pods", hosts)
	}
	var list *corev1.ServiceList
	m.c.Await("there is a Service", func() (err error) { // created after the report that both pods run
		if list, err = m.client.CoreV1().Services(m.namespace).List(t.Context(), metav1.ListOptions{}); err == nil && len(list.Items) == 0 {
			err = errors.New("there is none yet")
		}
		return err
	})
	if len(list.Items) != 1 || list.Items[0].Labels["determined"] != string(gang) {
		t.Fatalf("got %v, want one Service, of the gang", list.Items)
	}
	found, err := m.client.CoreV1().Pods(m.namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: list.Items[0].Spec.Selector}),
	})
	if err != nil || len(found.Items) != 2 {
		t.Errorf("the Service finds %d pods, %v, want 2", len(found.Items), err)
	}
	for _, pod := range found.Items {
		rank, _ := podspec.RankOf(&pod)
		if name, want := pod.Spec.Hostname+"."+pod.Spec.Subdomain, podspec.Addresses(list.Items[0].Name, m.namespace, 2)[rank]; !strings.HasPrefix(want, name+".") {
			t.Errorf("the pod of rank %d is %s, and is looked for as %s", rank, name, want)
		}
	}
	for _, id := range []rm.AllocationID{gang, single} {
		if err := m.rm.Kill(t.Context(), id, "seen"); err != nil {
			t.Fatal(err)
		}
		m.await(id, "it was killed", over)
	}
	m.awaitNothing()
}

// meeting is the script of each rank: it serves the other rank, sends a request to it, and prints
// both.
const meeting = `rank=$DET_CONTAINER_RANK
echo "rank $rank of $DET_CONTAINER_ADDRS"
(while true; do echo "this is rank $rank" | nc -l -p 7000 >/dev/null; done) &
IFS=,; set -- $DET_CONTAINER_ADDRS; unset IFS
peer=$1; [ "$rank" = 0 ] && peer=$2
for i in $(seq 60); do
  said=$(nc -w 5 "$peer" 7000 </dev/null) && [ -n "$said" ] && break
  sleep 1
done
echo "peer says: $said"
sleep 5`

// The pods of a gang resolve each other's names and connect, on a real node.
func TestGangRendezvousOnRealNode(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	m := onNodeWith(t, func(c *pods.Config) {
		p := &c.Pools[0].Template
		p.SlotType, p.SlotCPU, p.MaxSlotsPerPod = podspec.CPU, 0.1, 1
	})
	id := m.submit(program{}, func(q *rm.Request) { q.Name, q.Slots = meeting, 2 })
	w := m.await(id, "it has ended", over)
	for _, c := range w.assigned {
		said := strings.Join(m.lines(c.ID), "\n")
		if want := fmt.Sprintf("peer says: this is rank %d", 1-c.Rank); !strings.Contains(said, want) {
			t.Errorf("rank %d says\n%s\nwant %q", c.Rank, said, want)
		}
		if !strings.Contains(said, fmt.Sprintf("rank %d of det-", c.Rank)) || w.hosts[c.ID] == "" {
			t.Errorf("rank %d says\n%s\nand is at %q; want its rank, and an address", c.Rank, said, w.hosts[c.ID])
		}
	}
	m.awaitNothing()
}
