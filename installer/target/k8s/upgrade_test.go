package k8s_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/test/rest"
)

func (s *stage) upgrade(ctx context.Context) (installer.Upgraded, error) {
	in := s.installer(ctx)
	to, err := in.Deployment.(*k8s.Target).Wants(ctx)
	if err != nil {
		return installer.Upgraded{}, err
	}
	return in.Upgrade(ctx, to)
}

func TestAnUpgradeKeepsABackupAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	s := newInstalled(t)
	s.version = "1.1.0"
	in := s.installer(t.Context())
	var differs *installer.ReleaseError
	if err := in.Deployment.(*k8s.Target).Fits(t.Context(), record.Record{}); !errors.As(err, &differs) || !strings.Contains(differs.Hint(), "k8s upgrade") {
		t.Errorf("install of another version: got %v, want an error with upgrade", err)
	}
	done, err := s.upgrade(t.Context())
	must(t, err)
	if !done.Changed || done.From.Version != "1.0.0" || done.To.Version != "1.1.0" || !strings.Contains(done.Backup, "claim determined-backup-lab, file 1.0.0-") {
		t.Errorf("got %+v", done)
	}
	if p := s.plan(t.Context()); !p.Empty() {
		t.Errorf("after the upgrade: got plan\n%s", text(p))
	}
	if done, err = s.upgrade(t.Context()); err != nil || done.Changed {
		t.Errorf("again: got %+v and %v, want nothing to do", done, err)
	}
	r, err := s.down(t.Context(), false)
	must(t, err)
	if len(r.Kept) != 2 {
		t.Errorf("got kept %v, want the data and the backups", r.Kept)
	}
	_, err = s.down(t.Context(), true)
	must(t, err)
	s.wantNothing()
}

func TestUnavailableImageDoesNotBlock(t *testing.T) {
	t.Parallel()
	s := newInstalled(t)
	s.version = "1.1.0"
	quota := func(n string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"full"},"spec":{"hard":{"count/jobs.batch":"%s"}}}`, n)
	}
	s.apply(quota("0"))
	if _, err := s.upgrade(t.Context()); err == nil || !strings.Contains(err.Error(), "quota") {
		t.Fatalf("got %v, want the refusal of the quota", err)
	}
	d, err := s.api.AppsV1().Deployments(s.namespace).Get(t.Context(), "determined-master-deployment-lab", metav1.GetOptions{})
	must(t, err)
	if *d.Spec.Replicas != 1 || !strings.HasSuffix(d.Spec.Template.Spec.Containers[0].Image, ":1.0.0") {
		t.Errorf("got %d masters of %s, want the old one untouched", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image)
	}
	s.apply(quota("9"))
	if _, err := s.upgrade(t.Context()); err != nil {
		t.Errorf("when there is room: got %v", err)
	}
}

// After an interruption in any phase, the same command finishes the upgrade.
func TestAnUpgradeResumesWhenItEndsInAnyPhase(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newInstalled(t)
	for i, name := range sampled([]string{
		"upload the programs", "record the previous release", "stop the master", "back up the store",
		"test the new master on hold", "commit", "wait for the cluster", "wait for the agents",
	}, 2) {
		s.version = fmt.Sprintf("1.%d.0", i+1)
		s.cutting(name, func(ctx context.Context) error { _, err := s.upgrade(ctx); return err })
		if _, err := s.upgrade(t.Context()); err != nil {
			t.Fatalf("ended in %q and repeated: got %v", name, err)
		}
		if p := s.plan(t.Context()); !p.Empty() {
			t.Errorf("ended in %q and repeated: got plan\n%s", name, text(p))
		}
		if kept := s.kubectl("-n", s.namespace, "get", "jobs", "-l", "app.kubernetes.io/component=upgrade", "-o", "name"); strings.TrimSpace(kept) != "" {
			t.Errorf("ended in %q and repeated: got %s left", name, kept)
		}
	}
}

// If the server rejects the new master, the old one stays, and the error is reported.
func TestRejectedUpgradeIsRolledBack(t *testing.T) {
	t.Parallel()
	s := newInstalled(t)
	s.version = "1.1.0"
	s.apply(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"routes"},"spec":{"hard":{"count/ingresses.networking.k8s.io":"0"}}}`)
	right := s.values
	s.values = s.with("ingress", tree{"enabled": true, "host": "lab.example"})
	_, err := s.upgrade(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the release was rolled back, and serves") {
		t.Fatalf("got %v, want that the release is back", err)
	}
	d, err := s.api.AppsV1().Deployments(s.namespace).Get(t.Context(), "determined-master-deployment-lab", metav1.GetOptions{})
	must(t, err)
	if *d.Spec.Replicas != 1 || !strings.HasSuffix(d.Spec.Template.Spec.Containers[0].Image, ":1.0.0") {
		t.Errorf("got %d masters of %s, want the old one", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image)
	}
	s.values = right
	if done, err := s.upgrade(t.Context()); err != nil || done.To.Version != "1.1.0" {
		t.Errorf("without the ingress: got %+v and %v", done, err)
	}
}

// Values with which Helm would delete the claim with the cluster's data, or which the server would
// reject, do not stop the master.
func TestAnUpgradeKeepsTheClaimThatHasTheData(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.values["db"] = tree{"type": "embedded", "keepOnUninstall": false}
	right := s.values
	must(t, s.up(t.Context()))
	s.settled()
	s.version = "1.1.0"
	for want, db := range map[string]tree{
		"the values no longer include it": {"type": "embedded", "keepOnUninstall": false, "existingClaim": "other"},
		"Forbidden":                       {"type": "embedded", "keepOnUninstall": false, "storageSize": "1Gi"},
	} {
		s.values = s.with("db", db)
		if _, err := s.upgrade(t.Context()); cloud.KindOf(err) != cloud.Conflict || !strings.Contains(err.Error(), want) {
			t.Errorf("with db %v: got %v, want it refused with %q", db, err, want)
		}
	}
	d, err := s.api.AppsV1().Deployments(s.namespace).Get(t.Context(), master, metav1.GetOptions{})
	must(t, err)
	if d.Generation != 1 {
		t.Errorf("got generation %d of the master, want that nothing touched it", d.Generation)
	}
	s.kubectl("-n", s.namespace, "get", "pvc", "determined-master-data-lab")
	s.values = right
	if _, err := s.upgrade(t.Context()); err != nil {
		t.Errorf("with the values that it has: got %v", err)
	}
}

// A backup to a bucket needs no volume, and neither does its pod.
func TestABackupMayGoToABucket(t *testing.T) {
	t.Parallel()
	s := newInstalled(t)
	s.version, s.bucket = "1.1.0", "s3://backups/clusters"
	done, err := s.upgrade(t.Context())
	must(t, err)
	if !strings.HasPrefix(done.Backup, "s3://backups/clusters/lab/1.0.0-") || !strings.HasSuffix(done.Backup, ".backup") {
		t.Errorf("got the backup in %s", done.Backup)
	}
	if claims := s.kubectl("-n", s.namespace, "get", "pvc", "-o", "name"); strings.Contains(claims, "backup") {
		t.Errorf("got %s, want no claim for backups", claims)
	}
}

// A missing claim is reported while the old master serves.
func TestMissingBackupClaimDoesNotBlock(t *testing.T) {
	t.Parallel()
	s := newInstalled(t)
	s.version, s.claim = "1.1.0", "none"
	var told []string
	s.sink = event.Serial(func(e event.Event) {
		if e.Type == event.Started {
			told = append(told, e.Subject)
		}
	})
	if _, err := s.upgrade(t.Context()); cloud.KindOf(err) != cloud.NotFound || slices.Contains(told, "stop the master") {
		t.Errorf("got %v after %q, want it told before the master stops", err, told)
	}
}

// Data of an older version are migrated by an upgrade, which writes a backup first, and never by an
// install.
func TestInstallOfAnotherVersionKeepsData(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	playing(s)
	must(t, s.up(t.Context()))
	s.wait = true
	must(t, s.up(t.Context()))
	must(t, s.installer(t.Context()).Deployment.Ready(t.Context(), func(string) {}))
	s.wait = false
	_, err := s.down(t.Context(), false)
	must(t, err)
	s.version = "1.1.0"
	err = s.do(installer.ActInstall)
	wantNamed(t, err, installer.ActUpgrade)
	if !strings.Contains(err.Error(), "1.0.0") {
		t.Errorf("got %v, want the version that left the data", err)
	}
	s.version = "1.0.0"
	must(t, s.do(installer.ActInstall))
	s.settled()
	must(t, s.do(installer.ActUpgrade))
	must(t, s.installer(t.Context()).Deployment.(*k8s.Target).Fits(t.Context(), record.Record{}))
	_, err = s.down(t.Context(), false)
	must(t, err)
	must(t, s.do(installer.ActInstall)) // the data now have its version
}

// recorded returns the version that is recorded on the claim with the stage's data.
func (s *stage) recorded() string {
	s.t.Helper()
	c, err := s.api.CoreV1().PersistentVolumeClaims(s.namespace).Get(s.t.Context(), "determined-master-data-lab", metav1.GetOptions{})
	must(s.t, err)
	return c.Annotations["det-deploy.dev/version"]
}

// changing returns the stage's target with an open gate, as with the lease.
func (s *stage) changing() *k8s.Target {
	s.t.Helper()
	in := s.installer(s.t.Context())
	s.t.Cleanup(in.Gate.Open(func(context.Context) error { return nil }))
	return in.Deployment.(*k8s.Target)
}

// A new master may migrate the data and then fail: the claim records its version before it starts
// to serve, and the old version again after a rollback.
func TestTheClaimRecordsANewMasterBeforeItServes(t *testing.T) {
	t.Parallel()
	s := newInstalled(t, playing)
	s.tagged(brokenTag)
	target := s.changing()
	target.Limit = time.Second
	if err := target.Finish(t.Context(), func(string) {}); err == nil {
		t.Fatal("got no error of a master that ends")
	}
	if got := s.recorded(); got != brokenTag {
		t.Errorf("with a new master that fell ill: got %q recorded, want %s", got, brokenTag)
	}
	must(t, s.changing().Return(t.Context(), record.Release{Version: "1.0.0"}, func(string) {}))
	if got := s.recorded(); got != "1.0.0" {
		t.Errorf("with the old master back: got %q recorded, want 1.0.0", got)
	}
	if _, err := s.upgrade(t.Context()); err == nil || !strings.Contains(err.Error(), "the release was rolled back") {
		t.Errorf("got %v, want the upgrade taken back", err)
	}
	if got := s.recorded(); got != "1.0.0" {
		t.Errorf("after an upgrade that was taken back: got %q recorded, want 1.0.0", got)
	}
}

// Kept data are checked even if their master has not answered yet.
func TestKeptDataIsCheckedThoughItsMasterHasNotAnswered(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newInstalled(t, playing)
	s.kubectl("-n", s.namespace, "annotate", "pvc", "determined-master-data-lab", "det-deploy.dev/version=1.0.0")
	_, err := s.down(t.Context(), false)
	must(t, err)
	s.values = s.nowhere()
	must(t, s.do(installer.ActInstall))
	s.version = "1.1.0"
	wantNamed(t, s.do(installer.ActInstall), installer.ActUpgrade)
}
