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
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// startLag is how long after a Deployment or a ReplicaSet was made Kubernetes may take to
// note that nothing of it is available. A later note says that something was.
const startLag = 30 * time.Second

// Seen reads off the Deployment whether its master has answered, and off Helm's history
// what ran before.
func (t *Target) Seen(ctx context.Context, s *installer.Sight) error {
	d, err := t.deployment(ctx)
	if err != nil || d == nil {
		return err
	}
	now, err := t.newest(ctx, d)
	if err != nil {
		return err
	}
	s.Answered = answered(d, now)
	s.Proven = s.Proven || s.Answered || since(d.Status, d.CreationTimestamp.Time)
	past, err := t.Helm.History(ctx, t.Cluster)
	if err != nil {
		return err
	}
	if revision, found := before(past, s.Runs.Version); found {
		s.Former = record.Release{Version: versionIn(past, revision)}
	}
	return nil
}

// newest is the ReplicaSet of what a Deployment wants now, or nil.
func (t *Target) newest(ctx context.Context, d *appsv1.Deployment) (*appsv1.ReplicaSet, error) {
	const revision = "deployment.kubernetes.io/revision"
	list, err := t.API.AppsV1().ReplicaSets(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(d)})
	if err != nil {
		return nil, t.refuse("list", "replicasets", "", err)
	}
	for _, rs := range list.Items {
		if rs.Annotations[revision] == d.Annotations[revision] && metav1.IsControlledBy(&rs, d) {
			return &rs, nil
		}
	}
	return nil, nil //nolint:nilnil // none is made yet
}

// answered is pure: whether the master that a Deployment wants has ever been available.
// One that is told not to run says nothing about it, and did run before.
func answered(d *appsv1.Deployment, now *appsv1.ReplicaSet) bool {
	switch {
	case stopped(d):
		return true
	case now == nil:
		return false
	case now.Status.AvailableReplicas > 0:
		return true
	}
	unavailable, noted := availability(d.Status)
	return noted && unavailable.Status == corev1.ConditionFalse && unavailable.LastTransitionTime.After(now.CreationTimestamp.Add(startLag))
}

// since is pure: whether anything of a Deployment was available after it was made.
func since(s appsv1.DeploymentStatus, made time.Time) bool {
	c, noted := availability(s)
	return noted && (c.Status == corev1.ConditionTrue || c.LastTransitionTime.After(made.Add(startLag)))
}

func availability(s appsv1.DeploymentStatus) (appsv1.DeploymentCondition, bool) {
	i := slices.IndexFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentAvailable })
	if i < 0 {
		return appsv1.DeploymentCondition{}, false
	}
	return s.Conditions[i], true
}

// Return starts the old master, where nothing of the release has been changed, or rolls
// the release back to the last revision that had it.
func (t *Target) Return(ctx context.Context, r record.Release, tell func(string)) error {
	runs, _, err := t.Runs(ctx)
	if err != nil {
		return err
	}
	if err := t.removeErrands(ctx); err != nil {
		return err
	}
	if runs.Same(r) {
		return t.serveAgain(ctx, tell)
	}
	past, err := t.Helm.History(ctx, t.Cluster)
	if err != nil {
		return err
	}
	revision, found := last(past, r.Version)
	if !found {
		return fmt.Errorf("go back to %s: Helm remembers no revision of release %s with it", r, t.Cluster)
	}
	tell(fmt.Sprintf("the release goes back to revision %d", revision))
	if _, err := t.Helm.Rollback(ctx, t.Cluster, revision); err != nil {
		return fmt.Errorf("go back to revision %d: %w", revision, err)
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return err
	}
	if d == nil {
		return &installer.AbsentError{Cluster: t.Cluster}
	}
	if err := t.scale(ctx, d, 1); err != nil { // Helm keeps what det-deploy has scaled
		return err
	}
	return t.stands(ctx, tell)
}

// versionOfRevision is what a revision's values have the master's image be.
func versionOfRevision(i helm.Info) string {
	v := Values(i.Values)
	return cmp.Or(v.Text("image.tag"), v.Text("detVersion"), i.AppVersion)
}

func versionIn(past []helm.Info, revision int) string {
	for _, i := range past {
		if i.Revision == revision {
			return versionOfRevision(i)
		}
	}
	return ""
}

// last is the latest revision of a version that was deployed.
func last(past []helm.Info, version string) (revision int, found bool) {
	return latest(past, func(v string) bool { return v == version })
}

// before is the last revision that was deployed with another version than the one that
// failed. An attempt at that may be the latest by now.
func before(past []helm.Info, failed string) (revision int, found bool) {
	return latest(past, func(v string) bool { return v != failed })
}

func latest(past []helm.Info, fits func(version string) bool) (revision int, found bool) {
	for _, i := range slices.Backward(past) {
		if fits(versionOfRevision(i)) && (i.Status == helm.Deployed || i.Status == helm.Superseded) {
			return i.Revision, true
		}
	}
	return 0, false
}
