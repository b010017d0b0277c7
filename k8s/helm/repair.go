package helm

import (
	"context"

	"helm.sh/helm/v3/pkg/release"
)

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
