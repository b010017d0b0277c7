package k8s_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/templates"
	"github.com/det-deploy/det-deploy/test/rest"
)

// clusterWide lists the cluster-scoped objects that belong to the stage's namespace.
func (s *stage) clusterWide() []string {
	s.t.Helper()
	var out []string
	for name := range strings.FieldsSeq(s.kubectl("get", "clusterroles,clusterrolebindings,priorityclasses,namespaces", "-l", "det-deploy.dev/cluster", "-o", "name")) {
		if strings.Contains(name, s.namespace+"-") {
			out = append(out, name)
		}
	}
	return out
}

// withoutHelm applies the chart like a GitOps tool: rendered, and applied with kubectl.
func (s *stage) withoutHelm() {
	s.t.Helper()
	out, err := helm.Render(helm.Release{Name: "lab", Namespace: s.namespace, Values: s.values, Chart: templates.Chart(s.version)}, helm.NoServer())
	must(s.t, err)
	file := filepath.Join(s.t.TempDir(), "rendered.yaml")
	must(s.t, os.WriteFile(file, []byte(out.Manifest()), 0o600))
	s.kubectl("apply", "-f", file)
}

// Deleting the namespace deletes the release and the record, and leaves cluster-scoped objects and
// the namespace of tasks.
func TestRemainsOfDeletedNamespaceAreRemoved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	must(t, s.up(t.Context()))
	s.taskPod(s.namespace + "-lab-tasks")
	before := s.clusterWide()
	if len(before) != 4 {
		t.Fatalf("got %q, want a role, its binding, a priority and the namespace of tasks", before)
	}
	s.deleteNamespace()
	target := s.installer(t.Context()).Deployment.(*k8s.Target)
	if left, err := target.Remains(t.Context()); err != nil || len(left) < 3 {
		t.Errorf("got %v and %v, want what is left", left, err)
	}
	s.wantTraced(k8s.Trace{Cluster: "lab", Namespace: s.namespace})
	s.dir = filepath.Join(t.TempDir(), "record")
	r, err := s.down(t.Context(), false)
	must(t, err)
	got := fmt.Sprint(r.Removed)
	for _, want := range []string{"priority-class determined-" + s.namespace + "-lab-system", "cluster-role determined-", "cluster-role-binding determined-", "task-namespace " + s.namespace + "-lab-tasks", "task-pod"} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q removed in %s", want, got)
		}
	}
	if after := s.clusterWide(); len(after) > 0 {
		t.Errorf("got %q left, want nothing", after)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("got %v, want no record left on this machine", err)
	}
	if r, err = s.down(t.Context(), true); err != nil || len(r.Removed) > 0 {
		t.Errorf("again: got %v and %v, want nothing to do", r, err)
	}
}

// A failed upgrade leaves a Job, with its Secret, that neither Helm deletes.
func TestRemainsOfFailedUpgradeAreRemoved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	must(t, s.up(t.Context()))
	for name, part := range map[string]string{"determined-pull-lab": "upgrade", "determined-image-lab-1": "check"} {
		labels := map[string]string{"det-deploy.dev/cluster": "lab", "app.kubernetes.io/component": part}
		job, err := s.api.BatchV1().Jobs(s.namespace).Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			}}},
		}, metav1.CreateOptions{})
		must(t, err)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if part == "upgrade" {
			secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		}
		_, err = s.api.CoreV1().Secrets(s.namespace).Create(t.Context(), secret, metav1.CreateOptions{})
		must(t, err)
	}
	_, err := s.theirHelm().Uninstall(t.Context(), "lab")
	must(t, err)

	target := s.installer(t.Context()).Deployment.(*k8s.Target)
	left, err := target.Remains(t.Context())
	must(t, err)
	found := s.result(s.check(), "remains")
	for _, want := range []string{"errand determined-pull-lab", "job determined-image-lab-1", "secret determined-image-lab-1"} {
		if !strings.Contains(fmt.Sprint(left), want) || !strings.Contains(found.Found, want) {
			t.Errorf("got no %q in %v or %q", want, left, found.Found)
		}
	}
	r, err := s.down(t.Context(), true)
	must(t, err)
	if len(r.Left) > 0 {
		t.Errorf("got left %v", r.Left)
	}
	if left := s.kubectl("-n", s.namespace, "get", "jobs", "-o", "name"); left != "" {
		t.Errorf("got %s left", left)
	}
	if left, err := target.Remains(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("got %v and %v, want nothing left", left, err)
	}
}

// A chart that was applied without Helm is listed, changed only by its owner, and removed
// completely except for its data.
func TestAChartAppliedWithoutHelmIsRemovedWhole(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.values["defaultScheduler"] = "coscheduler"
	s.withoutHelm()
	other := s.neighbour()
	s.taskPod(s.namespace + "-lab-tasks")
	target := s.installer(t.Context()).Deployment.(*k8s.Target)
	if applied, err := target.Applied(t.Context()); err != nil || !applied {
		t.Errorf("got applied %t and %v", applied, err)
	}
	s.wantTraced(k8s.Trace{Cluster: "lab", Namespace: s.namespace, Version: "1.0.0", Master: true})
	r, err := s.down(t.Context(), false)
	must(t, err)
	if got := fmt.Sprint(r.Kept); len(r.Kept) != 1 || !strings.Contains(got, "claim determined-master-data-lab") {
		t.Errorf("got %s kept, want the claim", got)
	}
	for _, want := range []string{"deployment determined-master-deployment-lab", "deployment determined-coscheduler-lab", "service determined-master-service-lab", "secret determined-master-config-lab", "config-map ", "role-binding ", "service-account ", "priority-class ", "task-namespace "} {
		if got := fmt.Sprint(r.Removed); !strings.Contains(got, want) {
			t.Errorf("got no %q removed in %s", want, got)
		}
	}
	if after := s.clusterWide(); len(after) > 0 {
		t.Errorf("got %q left, want nothing", after)
	}
	if _, err := s.api.AppsV1().Deployments(s.namespace).Get(t.Context(), other, metav1.GetOptions{}); err != nil {
		t.Errorf("a neighbour's deployment: %v", err)
	}
	r, err = s.down(t.Context(), true)
	must(t, err)
	if len(r.Removed) != 1 {
		t.Errorf("with the data: got %v removed, want the claim", r.Removed)
	}
	s.wantNothing()
}

// Objects in a user's namespace of tasks are removed, and the namespace is kept.
func TestRolesInANamespaceOfTasksGo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jobs := s.namespace + "-jobs"
	s.kubectl("create", "namespace", jobs)
	t.Cleanup(func() { s.kubectl("delete", "namespace", jobs, "--wait=false") })
	s.values["resourceManager"] = tree{"defaultNamespace": jobs}
	s.withoutHelm()
	s.taskPod(jobs)
	s.values = chart.Values{"imageRegistry": "", "maxSlotsPerPod": 4} // the values are not recorded
	r, err := s.down(t.Context(), false)
	must(t, err)
	if left := s.kubectl("-n", jobs, "get", "roles,rolebindings,serviceaccounts,pods", "-l", "det-deploy.dev/cluster", "-o", "name"); strings.TrimSpace(left) != "" {
		t.Errorf("got %s left after %v", left, r)
	}
	s.kubectl("get", "namespace", jobs)
}

// A release with the same name in another namespace is not changed.
func TestSameNameInOtherNamespaceIsNotChanged(t *testing.T) {
	t.Parallel()
	one, other := newStage(t), newStage(t)
	must(t, other.up(t.Context()))
	one.withoutHelm()
	before := other.clusterWide()
	_, err := one.down(t.Context(), true)
	must(t, err)
	if after := other.clusterWide(); len(after) != len(before) || len(after) == 0 {
		t.Errorf("got %q, want %q", after, before)
	}
	if p := other.plan(t.Context()); !p.Empty() {
		t.Errorf("got plan\n%s", text(p))
	}
}

// Objects that lost their release are still counted and removed.
func TestObjectsWithoutReleaseAreCounted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	must(t, s.up(t.Context()))
	s.kubectl("-n", s.namespace, "delete", "secret", "-l", "owner=helm")
	r, err := s.down(t.Context(), true)
	must(t, err)
	if got := fmt.Sprint(r.Removed); !strings.Contains(got, "deployment determined-master-deployment-lab") {
		t.Errorf("got %s", got)
	}
	s.wantNothing()
	if after := s.clusterWide(); len(after) > 0 {
		t.Errorf("got %q left, want nothing", after)
	}
}

// After an interruption in any phase, the same command removes a chart that was applied without
// Helm.
func TestRemovalOfAppliedChartResumes(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newStage(t)
	s.withoutHelm()
	for _, name := range sampled(phases(), 2) {
		s.cutting(name, func(ctx context.Context) error { _, err := s.down(ctx, true); return err })
	}
	_, err := s.down(t.Context(), true)
	must(t, err)
	s.wantNothing()
}

// Uninstall looks for every kind that the chart renders.
func TestTheInventoryKnowsEveryKindOfTheChart(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"Namespace": true, "PersistentVolumeClaim": true, "VolumeSnapshot": true}
	for _, k := range (&k8s.Target{}).Kinds() {
		known[k] = true
	}
	words := map[string]string{
		"PriorityClass": "priority-class", "ClusterRole": "cluster-role", "ClusterRoleBinding": "cluster-role-binding", "ServiceAccount": "service-account",
		"Role": "role", "RoleBinding": "role-binding", "Secret": "secret", "ConfigMap": "config-map", "NetworkPolicy": "network-policy",
		"Service": "service", "Ingress": "ingress", "Route": "route", "Deployment": "deployment", "Job": "job", "ServiceMonitor": "service-monitor",
	}
	for _, more := range []chart.Values{
		{"db": tree{"type": "postgres", "snapshotSuffix": "one"}, "defaultScheduler": "coscheduler", "networkPolicy": tree{"enabled": true}, "ingress": tree{"enabled": true, "host": "lab.example.com"}},
		{"serviceMonitor": tree{"enabled": true}},
		{"openshiftRoute": tree{"enabled": true, "host": "lab.example.com"}},
	} {
		values := more.Over(chart.Values{"imageRegistry": "", "maxSlotsPerPod": 4})
		out, err := helm.Render(helm.Release{Name: "lab", Namespace: "ml", Values: values, Chart: templates.Chart("1.0.0")}, helm.NoServer())
		must(t, err)
		for _, o := range out.Objects {
			if !known[o.Kind] && !known[words[o.Kind]] {
				t.Errorf("%s: the inventory knows no such kind", o)
			}
		}
	}
}

// taskPod creates a pod like the master does for a task.
func (s *stage) taskPod(ns string) {
	s.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "task", Labels: map[string]string{"determined": "task-1", "det-deploy.dev/cluster": "lab"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	_, err := s.api.CoreV1().Pods(ns).Create(s.t.Context(), pod, metav1.CreateOptions{})
	must(s.t, err)
}

// neighbour creates a deployment of another cluster in the namespace, and returns its name.
func (s *stage) neighbour() string {
	s.t.Helper()
	labels := map[string]string{"app": "theirs", "det-deploy.dev/cluster": "other"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "determined-master-deployment-other", Labels: labels}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}},
		}}}},
	}}
	_, err := s.api.AppsV1().Deployments(s.namespace).Create(s.t.Context(), d, metav1.CreateOptions{})
	must(s.t, err)
	return d.Name
}

func (s *stage) deleteNamespace() {
	s.t.Helper()
	s.kubectl("delete", "namespace", s.namespace, "--timeout=120s")
}

// wantTraced fails the test unless the cluster is found by its objects.
func (s *stage) wantTraced(want k8s.Trace) {
	s.t.Helper()
	all, err := k8s.Traces(s.t.Context(), s.open(nil), "")
	must(s.t, err)
	for _, t := range all {
		if t.Namespace == want.Namespace && t.Cluster == want.Cluster {
			if want.Version != "" && t.Version != want.Version || t.Master != want.Master {
				s.t.Errorf("got %+v, want %+v", t, want)
			}
			return
		}
	}
	s.t.Errorf("got %+v, want %+v among them", all, want)
}

// recordAt sets the location of the record of a cluster whose namespace was deleted.
func recordAt(in *installer.Installer, dir string) {
	if dir != "" {
		in.Store = record.Dir{Path: dir}
		in.Holder = record.Holder{Owner: "test", Host: "here", Nonce: rand.Text()}
	}
}
