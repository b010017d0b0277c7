package pods_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// training is the script of a trial's container: it prints its information files and writes a file
// to the shared directory.
const training = `cd /run/determined/info
for f in cluster.json resources.json rendezvous.json trial.json; do
  if [ -e "$f" ]; then echo "$f $(stat -c '%a %u:%g' "$f") $(cat "$f")"; else echo "$f missing"; fi
done
echo "$DET_CONTAINER_ID" >> /determined_shared_fs/runs
printf '10%%\r20%%\r'
echo '[rank=3] WARNING: done'`

// asTrial returns the spec of a trial's container as master/task/spec writes it.
func asTrial(q rm.Request, dir string) *agentv1.Spec {
	s := &agentv1.Spec{
		Image: kubetest.TaskImage, Entrypoint: []string{"/bin/sh", "-c", training}, TaskType: "TRIAL", FixedPaths: true,
		WorkDir: "/run/determined/workdir", User: &agentv1.User{Name: "root", Group: "root"},
		Environment: []string{"DET_TASK_ID=" + string(q.Task), "DET_SESSION_TOKEN=secret", "DET_TASK_TYPE=TRIAL"},
		Mounts:      []*agentv1.Mount{{HostPath: dir, ContainerPath: "/determined_shared_fs", Propagation: "rprivate"}},
		Files:       []*apiv1.File{{Path: agentv1.TrialInfoPath, Type: '0', Mode: 0o600, Content: []byte(`{"trial_id":7}`)}},
	}
	if q.Slots == 1 {
		s.Files = append(s.Files, &apiv1.File{
			Path: agentv1.RendezvousInfoPath, Type: '0', Mode: 0o600, Content: agentv1.RendezvousInfo([]string{"127.0.0.1"}, 0, []int{1}),
		})
	}
	return s
}

// On a real node, a trial's pods get their information in files for their user only, share the
// checkpoint directory, and have their pod IPs as addresses.
func TestATrialOnARealNode(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	m := onNodeWith(t, func(c *pods.Config) {
		p := &c.Pools[0].Template
		p.SlotType, p.SlotCPU, p.MaxSlotsPerPod = podspec.CPU, 0.1, 1
	})
	shared := filepath.Join(os.TempDir(), "trials-"+m.namespace) // on the node, which may be this machine
	t.Cleanup(func() { _ = os.RemoveAll(shared) })
	m.owner.program = func(q rm.Request) *agentv1.Spec { return asTrial(q, shared) }
	made := m.submit(program{}, func(q *rm.Request) {
		q.Slots = 1
		q.PodSpec = fmt.Appendf(nil, `{"spec": {"initContainers": [{"name": "made", "image": "%s", "imagePullPolicy": "IfNotPresent",
			"command": ["true"], "volumeMounts": [{"name": "all", "mountPath": "/all"}]}],
			"volumes": [{"name": "all", "hostPath": {"path": "%s", "type": "DirectoryOrCreate"}}]}}`, kubetest.TaskImage, shared)
	})
	m.await(made, "it has ended", over)
	gang := m.submit(program{}, func(q *rm.Request) { q.Slots = 2 })
	two := m.await(gang, "it has ended", over)
	one := m.await(m.submit(program{}, slots(1)), "it has ended", over)
	for _, w := range []*owned{&one, &two} {
		for _, c := range w.assigned {
			said := strings.Join(m.lines(c.ID), "\n")
			want := []string{
				`cluster.json 600 0:0 {"master_url":`, `"task_type":"TRIAL"`, `resources.json 600 0:0 {"gpu_uuids":[]}`, `trial.json 600 0:0 {"trial_id":7}`,
				map[bool]string{true: `rendezvous.json 600 0:0 {"container_addrs":["127.0.0.1"],`, false: "rendezvous.json missing"}[w.Slots == 1],
			}
			for _, text := range want {
				if !strings.Contains(said, text) {
					t.Errorf("rank %d says\n%s\nwant %q", c.Rank, said, text)
				}
			}
			if last := slices.Clone(m.lines(c.ID)); len(last) < 3 || cmp.Diff(last[len(last)-3:], []string{"10%", "20%", "[rank=3] WARNING: done"}) != "" {
				t.Errorf("rank %d ends with %q", c.Rank, last)
			}
			if w.hosts[c.ID] == "" || strings.HasPrefix(w.hosts[c.ID], "127.") {
				t.Errorf("rank %d is at %q", c.Rank, w.hosts[c.ID])
			}
		}
	}
	m.awaitNothing()
}
