package podspec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

var cluster = kubetest.Share() //nolint:gochecknoglobals // one cluster for the package

func TestMain(m *testing.M) { cluster.Main(m) }

// gangPod returns the placement constraints of a pod as text.
func gangPod(s *corev1.PodSpec) (string, error) {
	data, err := json.Marshal([]any{s.NodeSelector, s.Affinity, s.Tolerations, gang.RequestsOf(s)})
	return string(data), err
}

func TestAPIServerAcceptsObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a Kubernetes; leave out -short")
	}
	t.Parallel()
	k, namespace := cluster.Namespace(t)
	client := k.Client()
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	for _, row := range rows() {
		o, err := podspec.Build(row.of)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.BatchV1().Jobs("default").Create(t.Context(), o.Job, dry); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		// The API server validates a pod more strictly than a Job's template.
		pod := &corev1.Pod{ObjectMeta: *o.Job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *o.Job.Spec.Template.Spec.DeepCopy()}
		pod.Name, pod.Spec.ServiceAccountName, pod.Spec.PriorityClassName = "x", "", ""
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, dry); err != nil {
			t.Errorf("%s: its pod: %v", row.name, err)
		}
		for _, s := range o.Secrets {
			if _, err := client.CoreV1().Secrets("default").Create(t.Context(), s, dry); err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
		}
	}
	t.Run("a gang is let go", func(t *testing.T) { letGo(t, k.For(t), namespace) })
}

// letGo creates a gang of small pods, for which every node has room, and checks that they wait
// behind their gates and are placed on the given nodes.
func letGo(t *testing.T, k *kubetest.Cluster, namespace string) {
	client := k.Client()
	of := template()
	of.Namespace, of.MaxSlotsPerPod = namespace, 1
	o, err := podspec.Build(request(4, of))
	if err != nil {
		t.Fatal(err)
	}
	job, err := client.BatchV1().Jobs(namespace).Create(t.Context(), o.Job, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range o.Secrets {
		podspec.Own(job, s)
		if _, err := client.CoreV1().Secrets(namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods := client.CoreV1().Pods(namespace)
	mine := metav1.ListOptions{LabelSelector: podspec.LabelTask + "=" + string(allocation)}
	var list *corev1.PodList
	k.Await("four gated pods", func() error {
		if list, err = pods.List(t.Context(), mine); err == nil && len(list.Items) != 4 {
			err = fmt.Errorf("there are %d pods", len(list.Items))
		}
		return err
	})
	for i := range list.Items {
		p := &list.Items[i]
		first := p.Spec.Containers[0].Env[0].Name
		if last := p.Spec.Containers[0].Env[len(p.Spec.Containers[0].Env)-1].Name; !podspec.Gated(p) || first != "JOB_COMPLETION_INDEX" || last == first {
			t.Errorf("%s: gated %v, variables from %s to %s; want the rank first", p.Name, podspec.Gated(p), first, last)
		}
		rank, _ := podspec.RankOf(p)
		patch, err := podspec.OpenPatch(p, allocation, gang.NodeID(fmt.Sprintf("fake-%d", 4-rank)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pods.Patch(t.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.Await("four nodes", func() error {
		now, err := pods.List(t.Context(), mine)
		if err != nil {
			return err
		}
		for _, p := range now.Items {
			rank, _ := podspec.RankOf(&p)
			if want := string(podspec.ContainerID(allocation, rank)); p.Labels[podspec.LabelContainerID] != want {
				return fmt.Errorf("%s is container %q, want %s", p.Name, p.Labels[podspec.LabelContainerID], want)
			}
			if !strings.HasSuffix(p.Spec.NodeName, fmt.Sprint("-", 4-rank)) {
				return fmt.Errorf("rank %d is on %q", rank, p.Spec.NodeName)
			}
		}
		return nil
	})
}
