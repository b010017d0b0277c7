package k8s

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

const (
	// pullLimit is how long a node may take to pull a new image.
	pullLimit = 10 * time.Minute
	// tryLimit is how long a master may test its store, and backupLimit how long writing a backup
	// may take: that of a database of some 50 GB on a slow disk.
	tryLimit    = 15 * time.Minute
	backupLimit = 30 * time.Minute
	// backupDir is the mount point of the backup claim in an errand.
	backupDir = "/backup"
	// backupSize is the default size of the backup claim if the values do not limit the size of the
	// database.
	backupSize = "30Gi"
)

// The errands of an upgrade.
const (
	pullErrand   = "upgrade-pull"
	backupErrand = "upgrade-backup"
	tryErrand    = "upgrade-try"
)

// Runs returns the release and mode of the master's Deployment.
func (t *Target) Runs(ctx context.Context) (record.Release, installer.Mode, error) {
	d, err := t.newPlace().readDeployment(ctx)
	if err != nil || d == nil {
		return record.Release{}, installer.Stop, err
	}
	r := record.Release{Version: versionOfImage(masterIn(&d.Spec.Template.Spec).Image)}
	if isStopped(d) {
		return r, installer.Stop, nil
	}
	return r, installer.Serve, nil
}

// UploadPrograms runs a pod that pulls the new image and reports its version, while the old master
// still serves, so that an image that cannot be pulled stops no master. It also returns errors for
// values that would lose the cluster's data or cannot be applied to an object.
func (t *Target) UploadPrograms(ctx context.Context, r record.Release, tell func(string)) error {
	if err := t.newClaims().checkGiven(ctx); err != nil {
		return err
	}
	if _, err := t.newUpgrade().nextDeployment(ctx, r); err != nil {
		return err
	}
	if _, err := t.newRelease().compareObjects(ctx); err != nil {
		return err
	}
	return t.newUpgrade().tryImage(ctx, tell)
}

// SetMode stops the master, tests the new one in a Job, or starts one.
func (t *Target) SetMode(ctx context.Context, r record.Release, m installer.Mode, tell func(string)) error {
	switch m {
	case installer.Stop:
		tell("waiting until the master's pod is gone; task pods keep running")
		return t.newWaiter().stopMaster(ctx)
	case installer.Hold:
		tell("the new master tests a copy of the store")
		return t.newUpgrade().rehearseMigration(ctx, r, tell)
	case installer.Serve:
	}
	want, err := t.Wants(ctx)
	if err != nil {
		return err
	}
	if r.Same(want) {
		return t.newUpgrade().serveNew(ctx, tell)
	}
	return t.newUpgrade().restartOld(ctx, tell)
}

// rehearseMigration runs the new program on a copy of the store and waits until it ends.
func (t upgrade) rehearseMigration(ctx context.Context, r record.Release, tell func(string)) error {
	d, err := t.nextDeployment(ctx, r)
	if err != nil {
		return err
	}
	args := replaceVerb(masterIn(&d.Spec.Template.Spec), []string{"rehearse"})
	return t.newErrands().runErrand(ctx, errandSpec{name: tryErrand, args: args, limit: tryLimit}, d.Spec.Template, tell)
}

// nextDeployment returns the master's Deployment in the new chart.
func (t upgrade) nextDeployment(ctx context.Context, r record.Release) (*appsv1.Deployment, error) {
	out, err := t.newRelease().renderChart(ctx)
	if err != nil {
		return nil, err
	}
	d, err := masterOf(out, t.Cluster)
	if err != nil {
		return nil, err
	}
	if have := versionOfImage(masterIn(&d.Spec.Template.Spec).Image); have != r.Version {
		return nil, fmt.Errorf("cannot upgrade cluster %s to %s: the values select %s; use the values that the upgrade started with", t.Cluster, r, have)
	}
	return d, nil
}

// restartOld starts the old master of an unchanged release.
func (t upgrade) restartOld(ctx context.Context, tell func(string)) error {
	tell("restarting the old master")
	d, err := t.newPlace().readDeployment(ctx)
	if err != nil {
		return err
	}
	if d == nil {
		return &installer.AbsentError{Cluster: t.Cluster}
	}
	if err := t.newPlace().scaleMaster(ctx, d, 1); err != nil {
		return err
	}
	return t.awaitMaster(ctx, tell)
}

// Backup runs the program that wrote the store, which writes a backup to a claim that outlives the
// cluster, or to a bucket.
func (t *Target) Backup(ctx context.Context, of record.Release, tell func(string)) (string, error) {
	d, err := t.newPlace().readDeployment(ctx)
	if err != nil {
		return "", err
	}
	if d == nil {
		return "", &installer.AbsentError{Cluster: t.Cluster}
	}
	file := fmt.Sprintf("%s-%s.backup", of.Version, time.Now().UTC().Format("20060102T150405Z"))
	if t.BackupBucket != "" {
		url := t.BackupBucket + "/" + t.Cluster + "/" + file
		args := replaceVerb(masterIn(&d.Spec.Template.Spec), []string{"backup"}, "--file="+url)
		return url, t.newErrands().runErrand(ctx, errandSpec{name: backupErrand, args: args, limit: backupLimit}, d.Spec.Template, tell)
	}
	claim, err := t.newClaims().ensureBackup(ctx)
	if err != nil {
		return "", err
	}
	args := replaceVerb(masterIn(&d.Spec.Template.Spec), []string{"backup"}, "--file="+backupDir+"/"+file)
	err = t.newErrands().runErrand(ctx, errandSpec{name: backupErrand, args: args, claim: claim, limit: backupLimit}, d.Spec.Template, tell)
	return "claim " + claim + ", file " + file, err
}

// WaitForAgents returns at once: tasks are pods, which reach their master by its Service.
func (t *Target) WaitForAgents(_ context.Context, _ record.Release, tell func(string)) error {
	tell("task pods keep running; there are no agents to upgrade")
	return nil
}

// Fits returns an error if the cluster runs another release than the values select, or if an
// upgrade is in progress. It ignores a master that has never answered, for example because its
// image does not exist: there is no release to upgrade from.
func (t *Target) Fits(ctx context.Context, r record.Record) error {
	if r.Upgrade != nil {
		return &installer.UnderWayError{Cluster: t.Cluster, To: r.Upgrade.To, Abandon: "det-deploy k8s upgrade --abandon --cluster-id " + t.Cluster}
	}
	runs, _, err := t.Runs(ctx)
	if err != nil {
		return err
	}
	want, err := t.Wants(ctx)
	if err != nil || runs.Same(want) {
		return err
	}
	if runs.IsZero() {
		return t.newUpgrade().checkData(ctx, want)
	}
	seen, err := installer.ObserveRelease(ctx, t, r)
	if err != nil {
		return err
	}
	switch at := installer.StandingOf(seen); {
	case !seen.Proven:
		return t.newUpgrade().checkData(ctx, want) // a master that has never answered can only lose data of an earlier cluster
	case at == installer.Ill:
		return &installer.StandingError{Cluster: t.Cluster, Platform: "k8s", At: at, Act: installer.ActInstall, Observation: seen}
	}
	return &installer.ReleaseError{Cluster: t.Cluster, Runs: runs, Own: want, Command: "det-deploy k8s upgrade --cluster-id " + t.Cluster}
}

// checkData returns an error if another release has written the data.
func (t upgrade) checkData(ctx context.Context, want record.Release) error {
	names, err := t.wantedClaims(ctx)
	if err != nil {
		return err
	}
	return t.newClaims().checkVersion(ctx, names, want.Version)
}
