package helm

import (
	"context"
	"errors"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/det-deploy/det-deploy/cloud"
)

// hookLimit is the timeout of a chart's hook, as with the helm command.
const hookLimit = 5 * time.Minute

// Install creates a release or completes an unfinished one. It takes over a release that an
// interrupted client left pending, and updates an existing release. It can be repeated after any
// failure. It returns when the objects are created, without waiting until they are ready.
//
// If ctx is canceled, Install stops between two calls, and the next command continues.
func (c *Client) Install(ctx context.Context, want Release) (Info, error) {
	return c.convergeRelease(ctx, want, true)
}

// Upgrade updates a release like Install, but returns an error of kind NotFound if it does not
// exist.
func (c *Client) Upgrade(ctx context.Context, want Release) (Info, error) {
	return c.convergeRelease(ctx, want, false)
}

func (c *Client) convergeRelease(ctx context.Context, want Release, create bool) (Info, error) {
	if err := CheckValues(want); err != nil {
		return Info{}, err
	}
	if _, _, err := c.Repair(ctx, want.Name); err != nil {
		return Info{}, err
	}
	r, err := c.beginRun(ctx)
	if err != nil {
		return Info{}, err
	}
	rels, err := r.readHistory(want.Name)
	if err != nil {
		return Info{}, r.explainError("read", want.Name, err)
	}
	if isAbsent(rels) {
		if !create {
			return Info{}, errMissing("upgrade", want.Name)
		}
		return r.installRelease(ctx, want)
	}
	r.worker.interrupted = r.unfinishedRevisions(rels)
	return r.upgradeRelease(ctx, want)
}

func isAbsent(rels []*release.Release) bool {
	return len(rels) == 0 || rels[len(rels)-1].Info.Status == release.StatusUninstalled
}

func errMissing(op, name string) error {
	return &cloud.Error{
		Kind: cloud.NotFound, Op: "helm:" + op, Resource: "release " + name,
		Fix: "make it with `det-deploy k8s install`, or name the right --cluster-id and --namespace",
		Err: errors.New("there is no such release here"),
	}
}

func (r *run) installRelease(ctx context.Context, want Release) (Info, error) {
	chart, err := want.loadChart()
	if err != nil {
		return Info{}, err
	}
	in := action.NewInstall(r.config)
	in.ReleaseName, in.Namespace, in.Timeout = want.Name, r.kube.Namespace(), hookLimit
	in.Replace = true              // a release that was uninstalled with its history kept
	in.SkipSchemaValidation = true // done by CheckValues
	rel, err := in.RunWithContext(context.WithoutCancel(ctx), chart, want.copyValues())
	if err != nil {
		return Info{}, r.explainError("install", want.Name, err)
	}
	return r.settleRelease(ctx, "install", rel)
}

func (r *run) upgradeRelease(ctx context.Context, want Release) (Info, error) {
	chart, err := want.loadChart()
	if err != nil {
		return Info{}, err
	}
	up := action.NewUpgrade(r.config)
	up.Namespace, up.Timeout, up.MaxHistory = r.kube.Namespace(), hookLimit, historyKept
	up.ResetValues = true          // the given values are complete
	up.SkipSchemaValidation = true // done by CheckValues
	rel, err := up.RunWithContext(context.WithoutCancel(ctx), want.Name, chart, want.copyValues())
	if err != nil {
		return Info{}, r.explainError("upgrade", want.Name, err)
	}
	return r.settleRelease(ctx, "upgrade", rel)
}

// Rollback rolls a release back to an earlier revision, as a new one. It returns an error for a
// foreign revision in the history of the release.
func (c *Client) Rollback(ctx context.Context, name string, revision int) (Info, error) {
	if _, _, err := c.Repair(ctx, name); err != nil {
		return Info{}, err
	}
	r, err := c.beginRun(ctx)
	if err != nil {
		return Info{}, err
	}
	if err := r.guardRevision(name, revision); err != nil {
		return Info{}, err
	}
	back := action.NewRollback(r.config)
	back.Version, back.Timeout, back.MaxHistory = revision, hookLimit, historyKept
	if err := back.Run(name); err != nil {
		return Info{}, r.explainError("roll back", name, err)
	}
	rels, err := r.readHistory(name)
	if err != nil {
		return Info{}, r.explainError("read", name, err)
	}
	if len(rels) == 0 {
		return Info{}, errMissing("roll back", name)
	}
	return r.settleRelease(ctx, "roll back", rels[len(rels)-1])
}

// settleRelease makes sure that the result is recorded, because Helm only logs a failure to do so,
// and deletes remaining objects of earlier revisions.
func (r *run) settleRelease(ctx context.Context, op string, rel *release.Release) (Info, error) {
	rels, err := r.readHistory(rel.Name)
	if err != nil {
		return Info{}, r.explainError(op, rel.Name, err)
	}
	for _, stored := range rels {
		switch {
		case stored.Version == rel.Version && stored.Info.Status != release.StatusDeployed:
			rel.Info.Status = release.StatusDeployed
			err = r.config.Releases.Update(rel)
		case stored.Version < rel.Version && stored.Info.Status == release.StatusDeployed:
			stored.Info.Status = release.StatusSuperseded
			err = r.config.Releases.Update(stored)
		}
		if err != nil {
			return Info{}, r.explainError(op, rel.Name, err)
		}
	}
	if err := r.sweepObjects(ctx, rels, rel); err != nil {
		return Info{}, r.explainError(op, rel.Name, err)
	}
	return r.infoOf(rel), nil
}

// Repair repairs a release that an interrupted client left in an intermediate state, so that the
// next operation can proceed. It returns the previous status, and whether it changed anything:
//
//	pending-install ─────────▶ failed      the next Install creates the missing objects
//	pending-upgrade ─────────▶ failed      the next Install or Upgrade continues from both
//	pending-rollback ────────▶ failed      revisions, the deployed and the interrupted
//	uninstalling ────────────▶ absent      the uninstall is completed
//	failed, deployed, absent ▶ unchanged
//
// It deletes no running objects, except to complete an uninstall. The caller must make sure that
// the other client has stopped, by holding the cluster's lease.
func (c *Client) Repair(ctx context.Context, name string) (was Status, repaired bool, err error) {
	r, err := c.beginRun(ctx)
	if err != nil {
		return "", false, err
	}
	rels, err := r.readHistory(name)
	if err != nil {
		return "", false, r.explainError("read", name, err)
	}
	if len(rels) == 0 {
		return Absent, false, nil
	}
	if err := r.guardObjects(rels); err != nil {
		return "", false, err
	}
	last := rels[len(rels)-1]
	was = Status(last.Info.Status)
	switch {
	case was.Pending():
		last.SetStatus(release.StatusFailed, "interrupted: "+string(was))
		if err := r.config.Releases.Update(last); err != nil {
			return was, false, r.explainError("repair", name, err)
		}
		return was, true, nil
	case was == Uninstalling:
		_, err := c.Uninstall(ctx, name)
		return was, err == nil, err
	}
	return was, false, nil
}

// unfinishedRevisions returns the revisions after the last deployed one: their objects may exist,
// and Helm would ignore them.
func (r *run) unfinishedRevisions(rels []*release.Release) []*release.Release {
	var out []*release.Release
	for _, rel := range rels {
		if rel.Info.Status == release.StatusDeployed {
			out = nil
			continue
		}
		if rel.Info.Status == release.StatusFailed {
			out = append(out, rel)
		}
	}
	return out
}
