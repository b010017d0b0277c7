package k8s

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

// upgrade is a target during an upgrade.
type upgrade struct{ *Target }

// serveNew upgrades the release. If the new master never becomes ready, or its objects are
// rejected, it has not served, so the release is rolled back. If the new master has changed the
// store, the old one refuses to start, and the backup remains.
func (t upgrade) serveNew(ctx context.Context, tell func(string)) error {
	past, err := t.Helm.History(ctx, t.Cluster)
	if err != nil {
		return err
	}
	want, err := t.Wants(ctx)
	if err != nil {
		return err
	}
	err = t.upgradeRelease(ctx, tell)
	refused := isRefusal(err) // rejected at once, before a master can have served
	if err == nil {
		err = t.awaitMaster(ctx, tell)
	}
	if err == nil || ctx.Err() != nil || !refused && !isNotReady(err) {
		return err
	}
	if !refused {
		if answered, unseen := t.hasAnswered(ctx, want); answered || unseen != nil {
			return errors.Join(err, unseen) // it may have written data that the old master cannot read
		}
	}
	back, found := revisionBefore(past, want.Version)
	if !found {
		return fmt.Errorf("%w; Helm has no earlier revision to roll back to", err)
	}
	return t.rollBack(ctx, back, err, tell)
}

// Finish upgrades the release to the requested one and waits for its master.
func (t *Target) Finish(ctx context.Context, tell func(string)) error {
	if err := t.newUpgrade().upgradeRelease(ctx, tell); err != nil {
		return err
	}
	return t.awaitMaster(ctx, tell)
}

// upgradeRelease upgrades the release. It first records the new version on the claims, because the
// new master may change the data and fail before it becomes ready. If the old master is restored,
// awaitMaster resets the annotation.
func (t upgrade) upgradeRelease(ctx context.Context, tell func(string)) error {
	want, err := t.Wants(ctx)
	if err != nil {
		return err
	}
	names, err := t.wantedClaims(ctx)
	if err != nil {
		return err
	}
	t.newClaims().recordVersion(ctx, names, want.Version, tell)
	tell("the release is upgraded")
	_, err = t.Helm.Upgrade(ctx, t.newRelease().helmRelease())
	return err
}

// hasAnswered reports whether a master of a release is set to run and has been available.
func (t upgrade) hasAnswered(ctx context.Context, r record.Release) (bool, error) {
	runs, mode, err := t.Runs(ctx)
	if err != nil || !runs.Same(r) || mode != installer.Serve {
		return false, err
	}
	seen := installer.Observation{Runs: runs, Mode: mode}
	err = t.ReadHistory(ctx, &seen)
	return seen.Answered, err
}

// isRefusal reports whether err would occur again if the call were repeated.
func isRefusal(err error) bool {
	return slices.Contains([]cloud.Kind{cloud.Invalid, cloud.Denied, cloud.Quota, cloud.Conflict}, cloud.KindOf(err))
}

func (t upgrade) rollBack(ctx context.Context, revision int, ill error, tell func(string)) error {
	tell("the new master does not become ready; rolling back the release")
	if _, err := t.Helm.Rollback(ctx, t.Cluster, revision); err != nil {
		return errors.Join(ill, fmt.Errorf("roll back to revision %d: %w", revision, err))
	}
	if err := t.awaitMaster(ctx, tell); err != nil {
		return errors.Join(ill, fmt.Errorf("the release was rolled back to revision %d, but its master does not become ready either: %w", revision, err))
	}
	return &installer.TakenBackError{Err: ill}
}
