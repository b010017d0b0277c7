package k8s_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/test/rest"
)

// theirs returns a chart with a name and with the objects of Determined's chart, under the same names.
func theirs(name string) fstest.MapFS {
	deployment := func(part string) string {
		return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: determined-` + part + `-deployment-{{ .Release.Name }}}
spec:
  replicas: 1
  selector: {matchLabels: {app: their-` + part + `-{{ .Release.Name }}}}
  template:
    metadata: {labels: {app: their-` + part + `-{{ .Release.Name }}}}
    spec: {containers: [{name: ` + part + `, image: "theirs/` + part + `:0.38.1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: determined-` + part + `-service-{{ .Release.Name }}}
spec: {ports: [{port: 8080}], selector: {app: their-` + part + `-{{ .Release.Name }}}}
`
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	return fstest.MapFS{
		"Chart.yaml":            file("apiVersion: v1\nname: " + name + "\nversion: 0.38.1\nappVersion: 0.38.1\n"),
		"values.yaml":           file("maxSlotsPerPod:\n"),
		"templates/master.yaml": file(deployment("master")),
		"templates/db.yaml":     file(deployment("db")),
		"templates/wide.yaml":   file("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: their-priority-{{ .Release.Namespace }}}\nvalue: 50\n"),
		"templates/config.yaml": file("apiVersion: v1\nkind: Secret\nmetadata: {name: determined-master-config-{{ .Release.Name }}}\nstringData: {master.yaml: x}\n"),
		"templates/claim.yaml": file(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: determined-db-pvc-{{ .Release.Name }}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`),
	}
}

// occupied returns a stage with a foreign release that has the cluster's name.
func occupied(t *testing.T, chart string, values chart.Values) *stage {
	t.Helper()
	s := newStage(t)
	_, err := s.theirHelm().Install(t.Context(), helm.Release{Name: "lab", Namespace: s.namespace, Values: values, Chart: theirs(chart)})
	must(t, err)
	t.Cleanup(func() { s.kubectl("delete", "priorityclass", "their-priority-"+s.namespace, "--ignore-not-found") })
	return s
}

// theirHelm returns a plain Helm client.
func (s *stage) theirHelm() *helm.Client { return helm.Open(helm.Config{Kube: s.open(nil)}) }

// wantTheirs fails the test unless all objects of the foreign release are unchanged.
func (s *stage) wantTheirs(revision int) {
	s.t.Helper()
	s.kubectl("-n", s.namespace, "get", "deployment/determined-master-deployment-lab", "deployment/determined-db-deployment-lab",
		"service/determined-master-service-lab", "persistentvolumeclaim/determined-db-pvc-lab", "secret/determined-master-config-lab")
	if n := s.kubectl("-n", s.namespace, "get", "deployment", "determined-master-deployment-lab", "-o", "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image}"); n != "1 theirs/master:0.38.1" {
		s.t.Errorf("got their master as %q", n)
	}
	info, err := s.theirHelm().Status(s.t.Context(), "lab")
	must(s.t, err)
	if info.Revision != revision || info.Status != helm.Deployed {
		s.t.Errorf("got their release %s at revision %d, want it deployed at %d", info.Status, info.Revision, revision)
	}
}

// A foreign release with the cluster's name is never changed.
func TestForeignReleaseIsNotChanged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ chart, word string }{
		{"web-shop", "another chart's, web-shop 0.38.1"},
		{"determined", "Determined's own, determined 0.38.1"},
	} {
		t.Run(tc.chart, func(t *testing.T) {
			t.Parallel()
			s := occupied(t, tc.chart, nil)
			wants := func(what string, err error) {
				if cloud.KindOf(err) != cloud.Conflict || !strings.Contains(err.Error(), tc.word) {
					t.Errorf("%s: got %v, want an error with it is %s", what, err, tc.word)
				}
			}
			wants("install", s.up(t.Context()))
			_, err := s.down(t.Context(), false)
			wants("uninstall", err)
			_, err = s.down(t.Context(), true)
			wants("uninstall with its data", err)
			in := s.installer(t.Context())
			_, _, err = in.Status(t.Context())
			wants("status", err)
			target := in.Deployment.(*k8s.Target)
			gate := s.open(nil)
			for what, do := range map[string]func(*helm.Client) error{
				"install": func(c *helm.Client) error {
					_, err := c.Install(t.Context(), helm.Release{Name: "lab", Values: s.values, Chart: target.Chart})
					return err
				},
				"uninstall": func(c *helm.Client) error { _, err := c.Uninstall(t.Context(), "lab"); return err },
				"rollback":  func(c *helm.Client) error { _, err := c.Rollback(t.Context(), "lab", 1); return err },
			} {
				wants("the client's "+what, do(k8s.OpenReleases(gate, "", nil)))
			}
			runs, _, err := target.Runs(t.Context())
			if err != nil || !runs.IsZero() {
				t.Errorf("got %v and %v, want no master of ours", runs, err)
			}
			s.wantTheirs(1)
		})
	}
}

// Without a release, it is unknown to whom a chart that was applied without Helm belongs.
func TestAForeignMasterWithoutAReleaseIsNotStopped(t *testing.T) {
	t.Parallel()
	s := occupied(t, "determined", nil)
	s.kubectl("-n", s.namespace, "delete", "secret", "-l", "owner=helm")
	r, err := s.down(t.Context(), true)
	if err != nil || len(r.Removed) > 0 {
		t.Errorf("got %v and %v, want nothing removed", r, err)
	}
	if err := s.up(t.Context()); cloud.KindOf(err) != cloud.Conflict {
		t.Errorf("got %v, want an error", err)
	}
	if n := s.kubectl("-n", s.namespace, "get", "deployment", "determined-master-deployment-lab", "-o", "jsonpath={.spec.replicas}"); n != "1" {
		t.Errorf("got %s replicas of their master, want 1", n)
	}
}

// old returns the values of a release of Determined's chart.
func old() chart.Values {
	return chart.Values{
		"maxSlotsPerPod": 2, "masterPort": 9191, "useNodePortForMaster": true, "detVersion": "0.38.1", "imageRegistry": "determinedai",
		"initialUserPassword": "Lovelace-1815", "telemetry": tree{"enabled": nil}, "db": tree{"password": "postgres", "storageSize": "2Gi"},
	}
}

// adopting returns a stage of a cluster that replaces a release of Determined.
func adopting(t *testing.T) *stage {
	t.Helper()
	s := occupied(t, "determined", old())
	s.adopt = true
	values, err := chart.Adopted(old(), chart.Values{"imageRegistry": "registry.example.com/team"})
	must(t, err)
	s.values = values
	return s
}

// Adopting Determined keeps its values and its database, which no release owns afterwards.
func TestAdoptingDetermined(t *testing.T) {
	t.Parallel()
	s := adopting(t)
	got := text(s.plan(t.Context()))
	for _, line := range []string{"chart", "Deployment determined-master-deployment-lab", "PersistentVolumeClaim determined-db-pvc-lab", "as it is, and of no release"} {
		if !strings.Contains(got, line) {
			t.Errorf("got plan without %q:\n%s", line, got)
		}
	}
	s.wantTheirs(1)
	must(t, s.up(t.Context()))
	s.wantAdopted()
	s.adopt = false
	if p := s.plan(t.Context()); !p.Empty() {
		t.Errorf("after it: got plan\n%s", text(p))
	}
	must(t, s.up(t.Context()))

	// The old database is never part of the cluster.
	s.values["db"] = tree{"type": "postgres"}
	if _, err := s.installer(t.Context()).Plan(t.Context()); cloud.KindOf(err) != cloud.Conflict {
		t.Errorf("a PostgreSQL on the old claim: got %v, want an error", err)
	}
	_, err := s.down(t.Context(), true)
	must(t, err)
	s.kubectl("-n", s.namespace, "get", "persistentvolumeclaim/determined-db-pvc-lab", "priorityclass/their-priority-"+s.namespace)
}

// After an interruption in any phase, the same command continues, and so does one without the flag
// once the old release is deleted.
func TestAdoptingResumesWhenItEndsInAnyPhase(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := adopting(t)
	for _, name := range sampled(phases(), 2) {
		s.cutting(name, func(ctx context.Context) error { return s.up(ctx) })
	}
	must(t, s.theirRetired())
	must(t, s.up(t.Context()))
	s.wantAdopted()
}

// Revisions of Determined stay in the history, and rollbacks never select them.
func TestRollbackNeverSelectsDetermined(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := adopting(t)
	_, err := s.theirHelm().Upgrade(t.Context(), helm.Release{Name: "lab", Namespace: s.namespace, Values: old(), Chart: theirs("determined")})
	must(t, err)
	must(t, s.up(t.Context()))
	s.adopt = false
	if _, err := k8s.OpenReleases(s.open(nil), "", nil).Rollback(t.Context(), "lab", 1); cloud.KindOf(err) != cloud.Conflict || !strings.Contains(err.Error(), "Determined's own") {
		t.Errorf("back to Determined's revision: got %v, want an error with whose it is", err)
	}
	s.wantAdopted()
	target := s.installer(t.Context()).Deployment.(*k8s.Target)
	seen, err := installer.ObserveRelease(t.Context(), target, record.Record{})
	if err != nil || !seen.Former.IsZero() {
		t.Errorf("got former %s and %v, want none", seen.Former, err)
	}
	if err := target.Return(t.Context(), record.Release{Version: "0.38.1"}, func(string) {}); err == nil || !strings.Contains(err.Error(), "Helm has no revision of release") {
		t.Errorf("return to it: got %v, want that there is none", err)
	}
	s.wantAdopted()
}

// theirRetired simulates an interruption after Determined's release is deleted and before ours is
// installed.
func (s *stage) theirRetired() error {
	c := k8s.OpenReleases(s.open(nil), "", nil)
	if info, err := c.Status(s.t.Context(), "lab"); err != nil || !info.Foreign {
		return err
	}
	return c.Retire(s.t.Context(), "lab")
}

// wantAdopted reports an error unless our release has replaced theirs and their database is kept.
func (s *stage) wantAdopted() {
	s.t.Helper()
	info, err := k8s.OpenReleases(s.open(nil), "", nil).Status(s.t.Context(), "lab")
	must(s.t, err)
	if info.Foreign || info.Status != helm.Deployed {
		s.t.Errorf("got %s, foreign %t, want a release of ours", info.Status, info.Foreign)
	}
	if port := s.kubectl("-n", s.namespace, "get", "service", "determined-master-service-lab", "-o", "jsonpath={.spec.ports[0].port}"); port != "9191" {
		s.t.Errorf("got port %s, want that of the old values", port)
	}
	claim, err := s.api.CoreV1().PersistentVolumeClaims(s.namespace).Get(s.t.Context(), "determined-db-pvc-lab", metav1.GetOptions{})
	must(s.t, err)
	if len(claim.Annotations["meta.helm.sh/release-name"]) > 0 || claim.DeletionTimestamp != nil || claim.Labels["det-deploy.dev/cluster"] != "" {
		s.t.Errorf("got the claim %v, want it free", claim.ObjectMeta)
	}
	if _, err := s.api.AppsV1().Deployments(s.namespace).Get(s.t.Context(), "determined-db-deployment-lab", metav1.GetOptions{}); err == nil {
		s.t.Error("their database still runs")
	}
}

// Settings that would use Determined's database are rejected before anything is changed.
func TestAdoptingNeverTakesTheDatabase(t *testing.T) {
	t.Parallel()
	s := adopting(t)
	for _, db := range []tree{{"type": "postgres"}, {"type": "postgres", "claimSuffix": "lab"}} {
		s.values["db"] = db
		err := s.up(t.Context())
		if cloud.KindOf(err) != cloud.Conflict || !strings.Contains(err.Error(), "determined-db-pvc-lab") {
			t.Errorf("%v: got %v, want an error with the claim", db, err)
		}
	}
	s.wantTheirs(1)
	before := chart.Values{"db": tree{"hostAddress": "db.example.com"}}
	if _, err := chart.Adopted(before, chart.Values{"db": tree{"hostAddress": "db.example.com"}}); cloud.KindOf(err) != cloud.Conflict {
		t.Errorf("the old server's database: got %v, want an error", err)
	}
	if _, err := chart.Adopted(before, chart.Values{"db": tree{"hostAddress": "db.example.com", "name": "new"}}); err != nil {
		t.Errorf("another database there: got %v", err)
	}
}

// The old master keeps running if our image cannot be pulled.
func TestAdoptingTriesTheImageFirst(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := adopting(t)
	playing(s)
	s.values["imageRegistry"], s.values["image"] = "", tree{"name": missingName}
	if err := s.up(t.Context()); err == nil || !strings.Contains(err.Error(), `"typo:1.0.0": not found`) {
		t.Errorf("got %v, want the registry's error", err)
	}
	s.wantTheirs(1)
}

// Losses are reported in advance: the pods of tasks, the values, and the kept objects.
func TestLossesAreReportedInAdvance(t *testing.T) {
	t.Parallel()
	s := adopting(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "trial", Labels: map[string]string{"determined": "trial-1"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := s.api.CoreV1().Pods(s.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	info, err := k8s.OpenReleases(s.open(nil), "", nil).Status(t.Context(), "lab")
	must(t, err)
	lines, err := s.installer(t.Context()).Deployment.(*k8s.Target).Losses(t.Context(), info)
	must(t, err)
	got := strings.Join(lines, "\n")
	for _, want := range []string{"experiments", "access tokens", "PersistentVolumeClaim determined-db-pvc-lab is kept", "without a master: 1", "value detVersion", "value db "} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "postgres") {
		t.Errorf("a secret is told:\n%s", got)
	}
}

// Only existing foreign releases can be retired.
func TestOnlyForeignReleasesAreRetired(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := k8s.OpenReleases(s.open(nil), "", nil)
	if err := c.Retire(t.Context(), "lab"); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that there is none", err)
	}
	must(t, s.up(t.Context()))
	if err := c.Retire(t.Context(), "lab"); cloud.KindOf(err) != cloud.Conflict {
		t.Errorf("got %v, want an error", err)
	}
	if state, _, err := s.installer(t.Context()).Status(t.Context()); err != nil || state != installer.Running {
		t.Errorf("got %s and %v", state, err)
	}
}
