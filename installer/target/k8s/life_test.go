package k8s_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestTheWholeLifeOfACluster(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := text(s.plan(t.Context()))
	for _, object := range []string{"Deployment determined-master-deployment-lab", "PersistentVolumeClaim determined-master-data-lab", "Service determined-master-service-lab", "PriorityClass ", "ClusterRole ", "Namespace " + s.namespace + "-lab-tasks"} {
		if !strings.Contains(first, "\n      "+object) {
			t.Errorf("the first plan does not say that it makes %s:\n%s", object, first)
		}
	}
	must(t, s.up(t.Context()))
	if p := s.plan(t.Context()); !p.Empty() {
		t.Fatalf("after install: got a plan with something to do:\n%s", text(p))
	}

	s.values["masterPort"] = 9090
	p := s.plan(t.Context())
	if got := text(p); !strings.Contains(got, "Service determined-master-service-lab spec.ports") || !strings.Contains(got, "9090") {
		t.Errorf("after a value has changed: got plan\n%s", got)
	}
	must(t, s.up(t.Context()))
	if p := s.plan(t.Context()); !p.Empty() {
		t.Errorf("after the change: got plan\n%s", text(p))
	}

	r, err := s.down(t.Context(), false)
	must(t, err)
	t.Log(r)
	claims, err := s.api.CoreV1().PersistentVolumeClaims(s.namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(claims.Items) != 1 {
		t.Errorf("after uninstall: got %d claims, want the one with the data", len(claims.Items))
	}
	must(t, s.up(t.Context()))
	if p := s.plan(t.Context()); !p.Empty() {
		t.Errorf("after the second install: got plan\n%s", text(p))
	}
	r, err = s.down(t.Context(), true)
	must(t, err)
	t.Log(r)
	s.wantNothing()
}

// Snapshots of the database are listed, and are not deleted with the release.
func TestSnapshotsAreKeptUntilTheDataGoes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.apply(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"volumesnapshots.snapshot.storage.k8s.io",
		"annotations":{"api-approved.kubernetes.io":"unapproved, a test"}},"spec":{"group":"snapshot.storage.k8s.io","scope":"Namespaced",
		"names":{"kind":"VolumeSnapshot","plural":"volumesnapshots","singular":"volumesnapshot"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	s.kubectl("wait", "--for=condition=Established", "crd/volumesnapshots.snapshot.storage.k8s.io", "--timeout=30s")
	must(t, s.up(t.Context()))
	s.values["db"] = tree{"type": "embedded", "snapshotSuffix": "one"}
	must(t, s.up(t.Context()))
	const snapshot = "snapshot determined-db-snapshot-one"
	r, err := s.down(t.Context(), false)
	must(t, err)
	if got := fmt.Sprint(r); !strings.Contains(got, snapshot) || len(r.Kept) != 2 {
		t.Errorf("got %s, want the claim and %s kept", got, snapshot)
	}
	r, err = s.down(t.Context(), true)
	must(t, err)
	if left := s.kubectl("-n", s.namespace, "get", "volumesnapshots", "-o", "name"); strings.TrimSpace(left) != "" {
		t.Errorf("got %s and %v, want nothing left", left, r)
	}
}

// The namespace of tasks belongs to the release, but claims of users in it are kept.
func TestTaskNamespaceIsDeletedUnlessItHasClaims(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name := s.namespace + "-lab-tasks"
	must(t, s.up(t.Context()))
	must(t, s.up(t.Context())) // keeps it
	s.kubectl("-n", name, "get", "serviceaccount", "determined-task-lab")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "datasets"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	_, err := s.api.CoreV1().PersistentVolumeClaims(name).Create(t.Context(), claim, metav1.CreateOptions{})
	must(t, err)
	r, err := s.down(t.Context(), false)
	must(t, err)
	if got := fmt.Sprint(r); !strings.Contains(got, "task-namespace "+name) {
		t.Errorf("got %s, want namespace %s kept", got, name)
	}
	s.kubectl("-n", name, "get", "persistentvolumeclaim", "datasets")
	must(t, s.up(t.Context()))
	s.kubectl("-n", name, "delete", "persistentvolumeclaim", "datasets")
	_, err = s.down(t.Context(), true)
	must(t, err)
	if left := s.kubectl("get", "namespaces", "--field-selector=metadata.name="+name, "-o", "name"); strings.TrimSpace(left) != "" {
		t.Errorf("got %s, want nothing left", left)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(p plan.Plan) string {
	var b strings.Builder
	_ = p.Render(&b) // a buffer never fails
	return b.String()
}

// wantNothing reports an error if an object with the cluster's name or label remains.
func (s *stage) wantNothing() {
	s.t.Helper()
	ctx, o := s.t.Context(), metav1.ListOptions{}
	var left []string
	see := func(kind string, ms ...metav1.ObjectMeta) {
		for _, m := range ms {
			if strings.Contains(m.Name, "lab") {
				left = append(left, kind+" "+m.Name)
			}
		}
	}
	secrets, err := s.api.CoreV1().Secrets(s.namespace).List(ctx, o)
	must(s.t, err)
	for _, x := range secrets.Items {
		see("secret", x.ObjectMeta)
	}
	claims, err := s.api.CoreV1().PersistentVolumeClaims(s.namespace).List(ctx, o)
	must(s.t, err)
	for _, x := range claims.Items {
		see("claim", x.ObjectMeta)
	}
	deployments, err := s.api.AppsV1().Deployments(s.namespace).List(ctx, o)
	must(s.t, err)
	for _, x := range deployments.Items {
		see("deployment", x.ObjectMeta)
	}
	pods, err := s.api.CoreV1().Pods(s.namespace).List(ctx, o)
	must(s.t, err)
	for _, x := range pods.Items {
		see("pod", x.ObjectMeta)
	}
	jobs, err := s.api.BatchV1().Jobs(s.namespace).List(ctx, o)
	must(s.t, err)
	for _, x := range jobs.Items {
		see("job", x.ObjectMeta)
	}
	roles, err := s.api.RbacV1().ClusterRoles().List(ctx, o)
	must(s.t, err)
	for _, x := range roles.Items {
		if strings.Contains(x.Name, "-"+s.namespace+"-") {
			see("cluster role", x.ObjectMeta)
		}
	}
	if len(left) > 0 {
		s.t.Errorf("left over: %s", strings.Join(left, ", "))
	}
}
