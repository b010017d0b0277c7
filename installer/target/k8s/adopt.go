package k8s

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// adoptionDrift lists the changes of replacing a release of Determined's chart. It returns an error
// if the new release would use objects that must stay.
func (r *release) adoptionDrift(ctx context.Context, info helm.Info) ([]resource.Drift, error) {
	parts, err := r.Helm.Parts(ctx, r.Cluster)
	if err != nil {
		return nil, err
	}
	wanted, err := r.renderChart(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := r.Helm.Diff(ctx, r.helmRelease())
	if err != nil {
		return nil, err
	}
	return adoptionOf(info, parts, wanted.Objects, changes, r.Cluster)
}

// adoptionOf is pure.
func adoptionOf(info helm.Info, parts helm.Parts, wanted []helm.Object, changes []helm.Change, cluster string) ([]resource.Drift, error) {
	out := []resource.Drift{{Path: "chart", Have: "Determined's " + info.Version, Want: "det-deploy's"}}
	for _, o := range parts.Goes {
		out = append(out, resource.Drift{Path: o.String(), Have: "Determined's", Want: "gone"})
	}
	var errs []error
	for _, o := range parts.Stays {
		out = append(out, resource.Drift{Path: o.String(), Have: "Determined's", Want: "as it is, and of no release"})
		if slices.ContainsFunc(wanted, func(w helm.Object) bool { return w.Same(o) || mountsClaim(w, o) }) {
			errs = append(errs, refuseTaken(o))
		}
	}
	for _, c := range changes {
		if c.Verb == helm.Foreign {
			errs = append(errs, blockedChange(c, cluster))
		}
	}
	return out, errors.Join(errs...)
}

// refuseTaken reports a value that would make the new cluster use an object of the old one.
func refuseTaken(o helm.Object) error {
	return &cloud.Error{
		Kind: cloud.Conflict, Op: "adopt", Resource: o.String(), Err: errors.New("it is Determined's, and the new cluster would use it too"),
		Fix: "keep the new database apart: --set db.type=embedded, or an empty claim that you have made, with --set db.existingClaim=NAME",
	}
}

// mountsClaim reports whether the pods of a rendered object mount a claim.
func mountsClaim(o, claim helm.Object) bool {
	name := regexp.MustCompile(`claimName: *"?` + regexp.QuoteMeta(claim.Name) + `["\s},]`)
	return claim.Kind == "PersistentVolumeClaim" && name.MatchString(o.YAML+"\n")
}

// takeOver replaces Determined's release, after its new image has been tested.
func (r *release) takeOver(ctx context.Context) error {
	if err := r.newUpgrade().tryImage(ctx, func(string) {}); err != nil {
		return err
	}
	if err := r.Helm.Retire(ctx, r.Cluster); err != nil {
		return err
	}
	return r.Create(ctx)
}

// Losses returns sentences that describe the lost and the remaining data when the cluster replaces
// a release of Determined's chart.
func (t *Target) Losses(ctx context.Context, info helm.Info) ([]string, error) {
	out := []string{
		"The contents of Determined's database are not imported: users, workspaces, experiments with their metrics, models, templates, logs and the lists of checkpoints. " +
			"The new cluster begins with the users admin and determined.",
		"Logins and access tokens end, and the master's Service is recreated: a load balancer may get another address.",
	}
	if info.Status == helm.Uninstalled {
		return append(out, chart.DroppedNotes(info.Values)...), nil // an earlier run has deleted the release
	}
	parts, err := t.Helm.Parts(ctx, t.Cluster)
	if err != nil {
		return nil, err
	}
	for _, o := range parts.Stays {
		out = append(out, fmt.Sprintf("%s is kept, but no longer belongs to a release.", o))
	}
	if host := chart.Values(info.Values).Text("db.hostAddress"); host != "" {
		out = append(out, "The database at "+host+" is not changed.")
	}
	orphans, err := t.listOrphans(ctx, chart.Values(info.Values).Text("resourceManager.defaultNamespace"))
	if err != nil {
		return nil, err
	}
	return append(append(out, orphans...), chart.DroppedNotes(info.Values)...), nil
}

// listOrphans lists the pods of Determined's tasks, which keep running without their master.
func (t *Target) listOrphans(ctx context.Context, further string) ([]string, error) {
	var out []string
	for _, ns := range slices.Compact([]string{t.Namespace, further}) {
		if ns == "" {
			continue
		}
		selector := taskLabel + ",!" + clusterLabel
		list, err := t.API.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if isClosedElsewhere(err, ns, t.Namespace) {
			continue
		}
		if err != nil {
			return nil, t.newPlace().refuseIn(ns, "list", "pods", "", err)
		}
		alive := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
			return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		})
		if len(alive) > 0 {
			out = append(out, fmt.Sprintf("Task pods in namespace %s that keep running without a master: %d. Delete them with `kubectl -n %s delete jobs,pods -l '%s'`.", ns, len(alive), ns, selector))
		}
	}
	return out, nil
}
