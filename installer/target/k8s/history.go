package k8s

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// startLag is how long Kubernetes may take to mark a new Deployment or ReplicaSet as unavailable. A
// later transition to unavailable proves that it was available before.
const startLag = 30 * time.Second

// ReadHistory derives from the Deployment whether its master has answered, and from Helm's history
// the previous release.
func (t *Target) ReadHistory(ctx context.Context, s *installer.Observation) error {
	d, err := t.newPlace().readDeployment(ctx)
	if err != nil || d == nil {
		return err
	}
	past, err := t.Helm.History(ctx, t.Cluster)
	if err != nil {
		return err
	}
	sets, err := t.newPlace().replicaSets(ctx, d)
	if err != nil {
		return err
	}
	s.Answered = s.Answered || hasAnsweredSince(d, sets, begunAt(past, s.Runs.Version))
	s.Proven = s.Proven || s.Answered || availableSince(d.Status, d.CreationTimestamp.Time)
	if revision, found := revisionBefore(past, s.Runs.Version); found {
		s.Former = record.Release{Version: versionIn(past, revision)}
	}
	return nil
}

// replicaSets returns the ReplicaSets of a Deployment that run its current version.
func (t place) replicaSets(ctx context.Context, d *appsv1.Deployment) ([]appsv1.ReplicaSet, error) {
	list, err := t.API.AppsV1().ReplicaSets(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(d)})
	if err != nil {
		return nil, t.explainError("list", "replicasets", "", err)
	}
	version := versionOfImage(masterIn(&d.Spec.Template.Spec).Image)
	return slices.DeleteFunc(list.Items, func(rs appsv1.ReplicaSet) bool {
		return !metav1.IsControlledBy(&rs, d) || versionOfImage(masterIn(&rs.Spec.Template.Spec).Image) != version
	}), nil
}

// hasAnsweredSince reports whether a master of the Deployment's version has been available since
// begun, when that version was set. Sets are the ReplicaSets of the version: several if other
// values have changed, and older than begun if one is reused. For a stopped Deployment it returns
// true, because the state does not show it and the master ran before. It is pure.
func hasAnsweredSince(d *appsv1.Deployment, sets []appsv1.ReplicaSet, begun time.Time) bool {
	switch {
	case isStopped(d):
		return true
	case len(sets) == 0:
		return false
	case slices.ContainsFunc(sets, func(rs appsv1.ReplicaSet) bool { return rs.Status.AvailableReplicas > 0 }):
		return true
	}
	first := slices.MinFunc(sets, func(a, b appsv1.ReplicaSet) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if made := first.CreationTimestamp.Time; made.After(begun) {
		begun = made
	}
	unavailable, noted := availableCondition(d.Status)
	return noted && unavailable.Status == corev1.ConditionFalse && unavailable.LastTransitionTime.After(begun.Add(startLag))
}

// availableSince reports whether a Deployment was ever available after it was created. It is pure.
func availableSince(s appsv1.DeploymentStatus, made time.Time) bool {
	c, noted := availableCondition(s)
	return noted && (c.Status == corev1.ConditionTrue || c.LastTransitionTime.After(made.Add(startLag)))
}

func availableCondition(s appsv1.DeploymentStatus) (appsv1.DeploymentCondition, bool) {
	i := slices.IndexFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentAvailable })
	if i < 0 {
		return appsv1.DeploymentCondition{}, false
	}
	return s.Conditions[i], true
}

// Return starts the old master if the release is unchanged, or else rolls the release back to the
// last revision of r.
func (t *Target) Return(ctx context.Context, r record.Release, tell func(string)) error {
	runs, _, err := t.Runs(ctx)
	if err != nil {
		return err
	}
	if err := t.newErrands().removeAll(ctx); err != nil {
		return err
	}
	if runs.Same(r) {
		return t.newUpgrade().restartOld(ctx, tell)
	}
	past, err := t.Helm.History(ctx, t.Cluster)
	if err != nil {
		return err
	}
	revision, found := lastRevision(past, r.Version)
	if !found {
		return fmt.Errorf("cannot roll back to %s: Helm has no revision of release %s with it", r, t.Cluster)
	}
	tell(fmt.Sprintf("rolling the release back to revision %d", revision))
	if _, err := t.Helm.Rollback(ctx, t.Cluster, revision); err != nil {
		return fmt.Errorf("roll back to revision %d: %w", revision, err)
	}
	d, err := t.newPlace().readDeployment(ctx)
	if err != nil {
		return err
	}
	if d == nil {
		return &installer.AbsentError{Cluster: t.Cluster}
	}
	if err := t.newPlace().scaleMaster(ctx, d, 1); err != nil { // Helm keeps the scale that det-deploy has set
		return err
	}
	return t.awaitMaster(ctx, tell)
}

// versionOfRevision returns the tag of the master's image in a revision.
func versionOfRevision(i helm.Info) string {
	v := chart.Values(i.Values)
	return cmp.Or(v.Text("image.tag"), v.Text("detVersion"), i.AppVersion)
}

// begunAt returns the creation time of the first revision in the latest run of revisions with a
// version. It is zero if the latest revision has another version. It is pure.
func begunAt(past []helm.Info, version string) time.Time {
	var at time.Time
	for _, i := range slices.Backward(past) {
		if i.Foreign || versionOfRevision(i) != version {
			break
		}
		at = i.Updated
	}
	return at
}

func versionIn(past []helm.Info, revision int) string {
	for _, i := range past {
		if i.Revision == revision {
			return versionOfRevision(i)
		}
	}
	return ""
}

// lastRevision returns the latest deployed revision of a version.
func lastRevision(past []helm.Info, version string) (revision int, found bool) {
	return latestRevision(past, func(v string) bool { return v == version })
}

// revisionBefore returns the latest deployed revision of another version than the failed one, which
// may have newer revisions.
func revisionBefore(past []helm.Info, failed string) (revision int, found bool) {
	return latestRevision(past, func(v string) bool { return v != failed })
}

// latestRevision returns the latest deployed revision of our chart with a fitting version.
func latestRevision(past []helm.Info, fits func(version string) bool) (revision int, found bool) {
	for _, i := range slices.Backward(past) {
		if !i.Foreign && fits(versionOfRevision(i)) && (i.Status == helm.Deployed || i.Status == helm.Superseded) {
			return i.Revision, true
		}
	}
	return 0, false
}
