package k8s

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/doctor"
	preflight "github.com/det-deploy/det-deploy/k8s/doctor"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// Checks returns the preflight checks of the cluster.
func (t *Target) Checks() []doctor.Check {
	out, err := helm.Render(t.newRelease().helmRelease(), helm.NoServer())
	if err != nil {
		return []doctor.Check{brokenCheck(err)}
	}
	asked, err := t.newRelease().preflightWanted(out.Objects)
	if err != nil {
		return []doctor.Check{brokenCheck(err)}
	}
	var checks []doctor.Check
	for _, c := range preflight.Checks(asked) {
		checks = append(checks, doctor.Check{Name: c.Name, Look: func(ctx context.Context) doctor.Result {
			r := c.Look(ctx)
			return doctor.Result{Answer: doctor.Answer(r.Answer), Found: r.Found, Needed: r.Needed, Fix: r.Fix}
		}})
	}
	return append(checks, doctor.Check{Name: "remains", Look: t.checkRemains})
}

// checkRemains names what a deleted release has left behind. Helm refuses to install over most of it.
func (t *Target) checkRemains(ctx context.Context) doctor.Result {
	const needed = "no objects of a deleted release"
	_, release, err := t.newRelease().lookUp(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if release.Exists() {
		return doctor.Passed("the cluster has a release")
	}
	left, err := t.Remains(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(left) == 0 {
		return doctor.Passed("none")
	}
	names := make([]string, min(len(left), shownRemains))
	for i := range names {
		names[i] = left[i].String()
	}
	found := strings.Join(names, ", ")
	if more := len(left) - len(names); more > 0 {
		found += fmt.Sprintf(" and %d more", more)
	}
	return doctor.Unsure(found, needed, "`det-deploy k8s uninstall --cluster-id "+t.Cluster+" --namespace "+t.Namespace+"` deletes them")
}

// shownRemains is the maximum number of objects that the check names.
const shownRemains = 5

// brokenCheck returns a failed check for values that the chart rejects.
func brokenCheck(err error) doctor.Check {
	return doctor.Check{Name: "values", Look: func(context.Context) doctor.Result {
		return doctor.Result{
			Answer: doctor.Fail, Found: strings.ReplaceAll(err.Error(), "\n", "; "), Needed: "values that the chart accepts",
			Fix: "`det-deploy k8s values --default` explains them",
		}
	}}
}

// preflightWanted returns the inputs of the checks.
func (r *release) preflightWanted(objects []helm.Object) (preflight.Wanted, error) {
	w := preflight.Wanted{Client: r.API, Namespace: r.Namespace, CreateNamespace: r.CreateNamespace, Installed: r.Installed, Objects: objects}
	values, err := helm.AllValues(r.helmRelease())
	if err != nil {
		return w, err
	}
	return w, w.Read(values)
}

// imageCheck is the chart's hook that tests the image before `helm upgrade`. The release omits it,
// because tryImage runs the same pod, reports its progress, and leaves no failed revision behind.
const imageCheck = "templates/check.yaml"

// tryImage validates the values with the new image in a pod that is scheduled like the master. The
// master keeps serving.
func (t upgrade) tryImage(ctx context.Context, tell func(string)) error {
	pod, values, err := t.trialPod(ctx)
	if err != nil {
		return err
	}
	e := errandSpec{name: pullErrand, args: masterIn(&pod.Spec).Args, values: values, limit: pullLimit}
	return t.newErrands().runErrand(ctx, e, pod, tell)
}

// trialPod returns the pod of the chart's own check and the Secret with its values.
func (t upgrade) trialPod(ctx context.Context) (pod corev1.PodTemplateSpec, values *corev1.Secret, err error) {
	caps, err := t.Helm.Capabilities(ctx)
	if err != nil {
		return pod, nil, err
	}
	want := t.newRelease().helmRelease()
	want.Without = nil
	out, err := helm.Render(want, caps)
	if err != nil {
		return pod, nil, err
	}
	var job *batchv1.Job
	for _, o := range out.Objects {
		if !o.Hook || path.Base(o.Source) != path.Base(imageCheck) {
			continue
		}
		var into any = &values
		if o.Kind == "Job" {
			into = &job
		}
		if err := yaml.Unmarshal([]byte(o.YAML), into); err != nil {
			return pod, nil, fmt.Errorf("read the chart's %s: %w", o, err)
		}
	}
	if job == nil {
		return pod, nil, errors.New("read the chart: it has no Job in " + imageCheck)
	}
	return job.Spec.Template, values, nil
}

// tryFirst tests the image before a change of the master, whose pod is stopped before the new one
// starts. If the image cannot be pulled or rejects the values, the master keeps running. It skips
// the test if no master serves.
func (r *release) tryFirst(ctx context.Context, drift []resource.Drift) error {
	if !slices.ContainsFunc(drift, func(d resource.Drift) bool { return concernsMaster(d, r.Cluster) }) {
		return nil
	}
	if serves, err := r.Serves(ctx); err != nil || !serves {
		return err
	}
	return r.newUpgrade().tryImage(ctx, func(string) {})
}

// concernsMaster reports whether d is drift of the master's Deployment.
func concernsMaster(d resource.Drift, cluster string) bool {
	o := helm.Object{Kind: "Deployment", Name: masterPrefix + cluster}
	return strings.HasPrefix(d.Path, o.String()+" ")
}
