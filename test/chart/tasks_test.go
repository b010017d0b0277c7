package chart_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

// gangOf returns the request for a task of two pods in a namespace.
func gangOf(namespace string) podspec.Request {
	t := podspec.Template{
		Cluster: "lab", Namespace: namespace, Image: "det-deploy:test", Account: "determined-task-lab",
		Master: podspec.Master{Scheme: "http", Host: "master", Port: 8080}, SlotType: podspec.CUDA, MaxSlotsPerPod: 1,
	}
	spec := &agentv1.Spec{
		Image: "task:1", Entrypoint: []string{"/task"}, WorkDir: "/run/determined/workdir", ShmSize: 1 << 30,
		User: &agentv1.User{Name: "root", Group: "root"}, SessionToken: "secret",
	}
	return podspec.Request{
		Request:  rm.Request{Allocation: "0a1b2c3d.1", Task: "0a1b2c3d", Job: "0a1b2c3d", Username: "ann", Slots: 2},
		Template: t, Attempt: 1, Specs: []*agentv1.Spec{spec, spec},
	}
}

// The objects of the chart suffice for a gang to run under the Pod Security level baseline, with
// the master's permissions only. This level rejects pods that could escape from their container,
// whatever the master does.
func TestAGangRunsUnderTheBaselinePolicy(t *testing.T) {
	t.Parallel()
	c, namespace := cluster.Namespace(t)
	c.Kubectl("apply", "--server-side", "--validate=strict", "--filename="+put(t, "gpu", namespace))
	tasks := namespace + "-lab-tasks"
	t.Cleanup(func() { c.Kubectl("delete", "namespace", tasks, "--wait=false") })
	if level := c.Kubectl("get", "namespace", tasks, "-o", `jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}`); level != "baseline" {
		t.Errorf("got Pod Security level %q, want baseline", level)
	}
	master, request := as(t, c, namespace, "determined-master-lab"), gangOf(tasks)
	runGang(t, c, master, request)
	escape := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "escape"},
		Spec: corev1.PodSpec{HostPID: true, Containers: []corev1.Container{
			{Name: "main", Image: "task:1", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}},
		}},
	}
	if _, err := master.CoreV1().Pods(tasks).Create(t.Context(), escape, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a privileged pod: got %v, want it refused", err)
	}
	if _, err := as(t, c, tasks, "determined-task-lab").CoreV1().Pods(tasks).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a task lists pods: got %v, want it refused", err)
	}
}

// A namespace that enforces restricted admits the tasks of users that are not root.
func TestAGangOfAUserRunsUnderTheRestrictedPolicy(t *testing.T) {
	t.Parallel()
	c, namespace := cluster.Namespace(t)
	c.Kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	files, err := render(t, release{name: "lab", namespace: namespace, values: map[string]any{
		"maxSlotsPerPod": 8, "createNonNamespacedObjects": false, "resourceManager": map[string]any{"defaultNamespace": namespace},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.Kubectl("apply", "--server-side", "--validate=strict", "--filename="+written(t, manifest(files)))
	request := gangOf(namespace)
	for _, s := range request.Specs {
		s.User = &agentv1.User{Name: "lea", Uid: 1000, Group: "lea", Gid: 1000}
	}
	runGang(t, c, as(t, c, namespace, "determined-master-lab"), request)
}

// runGang creates a gang with the master's permissions and waits until it has run.
func runGang(t *testing.T, c *kubetest.Cluster, master kubernetes.Interface, request podspec.Request) {
	t.Helper()
	tasks := request.Template.Namespace
	o, err := podspec.Build(request)
	if err != nil {
		t.Fatal(err)
	}
	job := new(batchv1.Job)
	c.Await("the master's role counts", func() (err error) {
		job, err = master.BatchV1().Jobs(tasks).Create(t.Context(), o.Job, metav1.CreateOptions{})
		return err
	})
	for _, s := range o.Secrets {
		podspec.Own(job, s)
		if _, err := master.CoreV1().Secrets(tasks).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Await("the end of a gang", func() error {
		list, err := master.CoreV1().Pods(tasks).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range list.Items {
			if !podspec.Gated(&p) {
				continue
			}
			patch, err := podspec.OpenPatch(&p, request.Allocation, "")
			if err != nil {
				return err
			}
			if _, err := master.CoreV1().Pods(tasks).Patch(t.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		job, err := master.BatchV1().Jobs(tasks).Get(t.Context(), job.Name, metav1.GetOptions{})
		if err == nil && job.Status.Succeeded != 2 {
			err = fmt.Errorf("%d pods, %+v", len(list.Items), job.Status)
		}
		return err
	})
}

// selectors returns the pod selectors of the Services and NetworkPolicies of the chart.
func selectors(t *testing.T, text string) []map[string]string {
	t.Helper()
	var out []map[string]string
	for _, doc := range strings.Split(text, "\n---\n") {
		var o struct {
			Kind string
			Spec struct {
				Selector    any
				PodSelector struct{ MatchLabels map[string]string }
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		switch o.Kind {
		case "NetworkPolicy":
			out = append(out, o.Spec.PodSelector.MatchLabels)
		case "Service":
			labels := map[string]string{}
			all, _ := o.Spec.Selector.(map[string]any)
			for key, value := range all {
				labels[key], _ = value.(string)
			}
			if labels["determined-system"] == "" {
				t.Errorf("a Service finds its pods by %v, want determined-system among them", labels)
			}
			out = append(out, labels)
		}
	}
	return out
}

// A task's pod that joined the master's Service would receive the logins of users.
func TestNoTaskCanCarryTheLabelsOfTheClustersOwnPods(t *testing.T) {
	t.Parallel()
	all := 0
	for _, kind := range kinds() {
		for _, labels := range selectors(t, read(t, filepath.Join("testdata", kind+".golden"))) {
			all++
			for key, value := range labels {
				r := gangOf("tasks")
				r.PodSpec = fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
				if err := podspec.Validate(r.Request, r.Template); err == nil {
					t.Errorf("%s: a task may carry the label %s=%s", kind, key, value)
				}
			}
		}
	}
	if all < 10 {
		t.Errorf("got %d selectors, want those of five charts", all)
	}
}

// The Pod Security level of the tasks' namespace is the lowest that the configuration needs.
func TestTheLevelOfTheNamespaceFollowsWhatTasksGet(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		`{maxSlotsPerPod: 1}`: "baseline",
		`{maxSlotsPerPod: 1, taskContainerDefaults: {cpuPodSpec: {spec: {tolerations: [{operator: Exists}]}}}}`:                        "baseline",
		`{maxSlotsPerPod: 1, taskContainerDefaults: {cpuPodSpec: {spec: {volumes: [{name: x, hostPath: {path: /srv}}]}}}}`:             "privileged",
		`{maxSlotsPerPod: 1, taskContainerDefaults: {networkMode: host}}`:                                                              "privileged",
		`{maxSlotsPerPod: 1, resourcePools: [{pool_name: default, task_container_defaults: {gpu_pod_spec: {spec: {hostIPC: true}}}}]}`: "privileged",
		`{maxSlotsPerPod: 1, resourcePools: [{pool_name: default, task_container_defaults: {bind_mounts: []}}]}`:                       "baseline",
		`{maxSlotsPerPod: 1, checkpointStorage: {existingClaim: trials}}`:                                                              "baseline",
		`{maxSlotsPerPod: 1, checkpointStorage: {hostPath: /checkpoints}}`:                                                             "privileged",
		`{maxSlotsPerPod: 1, checkpointStorage: {type: directory, containerPath: /checkpoints}}`:                                       "baseline",
		`{maxSlotsPerPod: 1, resourceManager: {podSecurity: privileged}}`:                                                              "privileged",
	} {
		files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, values)})
		if err != nil {
			t.Fatal(err)
		}
		if got := files["determined/templates/tasks.yaml"]; !strings.Contains(got, "pod-security.kubernetes.io/enforce: "+want+"\n") {
			t.Errorf("%s: want %s in\n%s", values, want, got)
		}
	}
}

// A master that is restarted on a full node must not evict a task.
func TestClusterPodsDoNotPreempt(t *testing.T) {
	t.Parallel()
	classes := 0
	for _, kind := range kinds() {
		var pods, names []string
		for _, doc := range strings.Split(read(t, filepath.Join("testdata", kind+".golden")), "\n---\n") {
			var o struct {
				Kind             string
				Metadata         struct{ Name string }
				PreemptionPolicy string `yaml:"preemptionPolicy"`
				Spec             struct {
					Template struct {
						Spec struct {
							PriorityClassName string `yaml:"priorityClassName"`
						}
					}
				}
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatal(err)
			}
			if class := o.Spec.Template.Spec.PriorityClassName; class != "" {
				pods = append(pods, class)
			}
			if o.Kind == "PriorityClass" {
				names = append(names, o.Metadata.Name)
				if o.PreemptionPolicy != "Never" {
					t.Errorf("%s: class %s has preemptionPolicy %q, want Never", kind, o.Metadata.Name, o.PreemptionPolicy)
				}
			}
		}
		classes += len(names)
		for _, class := range pods {
			if len(names) > 0 && class != names[0] {
				t.Errorf("%s: a pod has class %s, want %s", kind, class, names[0])
			}
		}
	}
	if classes < 3 {
		t.Errorf("got %d classes, want those of three charts", classes)
	}
}
