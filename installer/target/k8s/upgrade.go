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
	// pullLimit is how long a new image may take to arrive on a node.
	pullLimit = 10 * time.Minute
	// tryLimit is how long a master may try its store, and backupLimit how long one
	// may be written: a database of some 50 GB on a slow disk.
	tryLimit    = 15 * time.Minute
	backupLimit = 30 * time.Minute
	// backupDir is where an errand finds the claim of the backups.
	backupDir = "/backup"
	// backupSize is the claim's size where the values do not say how large the
	// database may become.
	backupSize = "30Gi"
)

// The errands of an upgrade.
const (
	pullErrand   = "upgrade-pull"
	backupErrand = "upgrade-backup"
	tryErrand    = "upgrade-try"
)

// Runs reads it off the master's Deployment.
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

// UploadPrograms has a pod of the cluster pull the new image and report its version, while the
// old master still serves: an image that cannot be pulled stops no master. Values that would
// cost the cluster its data, or that no object can be brought to, are refused here too.
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

// SetMode stops the master, tries the new one in a Job, or has one serve.
func (t *Target) SetMode(ctx context.Context, r record.Release, m installer.Mode, tell func(string)) error {
	switch m {
	case installer.Stop:
		tell("waiting until the master's pod is gone; pods of tasks go on")
		return t.newWaiter().stopMaster(ctx)
	case installer.Hold:
		tell("the new master tries the store on a copy")
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

// rehearseMigration runs the new program on a copy of the store to its end.
func (t upgrade) rehearseMigration(ctx context.Context, r record.Release, tell func(string)) error {
	d, err := t.nextDeployment(ctx, r)
	if err != nil {
		return err
	}
	args := replaceVerb(masterIn(&d.Spec.Template.Spec), []string{"rehearse"})
	return t.newErrands().runErrand(ctx, errandSpec{name: tryErrand, args: args, limit: tryLimit}, d.Spec.Template, tell)
}

// nextDeployment is the master's Deployment as the new chart has it.
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
		return nil, fmt.Errorf("bring cluster %s to %s: the values lead to %s; give those that the upgrade began with", t.Cluster, r, have)
	}
	return d, nil
}

// restartOld starts the old master: nothing of the release has been changed.
func (t upgrade) restartOld(ctx context.Context, tell func(string)) error {
	tell("the old master starts again")
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

// Backup lets the program that wrote the store write it into a file on a claim of its
// own, which outlives the cluster, or into a bucket.
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

// WaitForAgents has nothing to do: tasks are pods, which know their master by its Service.
func (t *Target) WaitForAgents(_ context.Context, _ record.Release, tell func(string)) error {
	tell("pods of tasks have gone on; there is no agent to follow")
	return nil
}

// Fits refuses to work on a cluster that runs another release than the values lead
// to, or that is in the middle of an upgrade. A master that has never answered, as
// that of an image that does not exist, is no release to upgrade from.
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
		return t.newUpgrade().checkData(ctx, want) // what has never answered has nothing to lose but data that was kept
	case at == installer.Ill:
		return &installer.StandingError{Cluster: t.Cluster, Platform: "k8s", At: at, Act: installer.ActInstall, Observation: seen}
	}
	return &installer.ReleaseError{Cluster: t.Cluster, Runs: runs, Own: want, Command: "det-deploy k8s upgrade --cluster-id " + t.Cluster}
}

// checkData refuses a release on data that another one has left.
func (t upgrade) checkData(ctx context.Context, want record.Release) error {
	names, err := t.wantedClaims(ctx)
	if err != nil {
		return err
	}
	return t.newClaims().checkVersion(ctx, names, want.Version)
}
