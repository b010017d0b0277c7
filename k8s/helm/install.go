package helm

import (
	"context"
	"errors"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/det-deploy/det-deploy/cloud"
)

// hookLimit is how long one hook of a chart may run, as with Helm's own command.
const hookLimit = 5 * time.Minute

// Install makes a release, or finishes one that was begun: what a dead client
// left behind is taken over, and a release that is in place is brought to what is
// wanted. So it may be repeated after any failure. It returns when the objects
// are made and does not wait until they are up.
//
// A cancelled context ends it between two calls; the next command takes it up.
func (c *Client) Install(ctx context.Context, want Release) (Info, error) {
	return c.convergeRelease(ctx, want, true)
}

// Upgrade brings a release to what is wanted, as Install does, and refuses with
// the kind NotFound when there is none.
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
		return Info{}, r.explainError("look at", want.Name, err)
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
	in.Replace = true              // one that was uninstalled and remembered
	in.SkipSchemaValidation = true // CheckValues has
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
	up.ResetValues = true          // those given are all
	up.SkipSchemaValidation = true // CheckValues has
	rel, err := up.RunWithContext(context.WithoutCancel(ctx), want.Name, chart, want.copyValues())
	if err != nil {
		return Info{}, r.explainError("upgrade", want.Name, err)
	}
	return r.settleRelease(ctx, "upgrade", rel)
}

// Rollback brings a release back to an earlier revision, as a new one. A foreign
// revision in the history of a release of ours is refused.
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
		return Info{}, r.explainError("look at", name, err)
	}
	if len(rels) == 0 {
		return Info{}, errMissing("roll back", name)
	}
	return r.settleRelease(ctx, "roll back", rels[len(rels)-1])
}

// settleRelease makes sure that what was done is written down, which Helm leaves at a
// line in its log, and that nothing of earlier revisions is left over.
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

// Repair repairs a release that a dead client left in the middle of something,
// so that the next operation can go on. It returns the status that it found, and
// true when it changed anything:
//
//	pending-install ─────────▶ failed      the next Install makes what is missing
//	pending-upgrade ─────────▶ failed      the next Install or Upgrade continues from both
//	pending-rollback ────────▶ failed      revisions, the deployed and the interrupted
//	uninstalling ────────────▶ absent      the uninstalling is finished
//	failed, deployed, absent ▶ as it is
//
// Nothing that is running is taken away by it, but for the rest of an
// uninstalling. Whether the other client is dead is the caller's to know: it
// holds the cluster's lease.
func (c *Client) Repair(ctx context.Context, name string) (was Status, repaired bool, err error) {
	r, err := c.beginRun(ctx)
	if err != nil {
		return "", false, err
	}
	rels, err := r.readHistory(name)
	if err != nil {
		return "", false, r.explainError("look at", name, err)
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

// unfinishedRevisions are the revisions after the last deployed one: their objects may be
// live, and Helm would ignore them.
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
