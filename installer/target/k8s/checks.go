package k8s

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/installer/doctor"
	preflight "github.com/det-deploy/det-deploy/k8s/doctor"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// Checks lists what has to hold before anything is changed.
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
	return checks
}

// brokenCheck is the check of values that cannot be read.
func brokenCheck(err error) doctor.Check {
	return doctor.Check{Name: "values", Look: func(context.Context) doctor.Result {
		return doctor.Result{
			Answer: doctor.Fail, Found: strings.ReplaceAll(err.Error(), "\n", "; "), Needed: "values that the chart takes",
			Fix: "`det-deploy k8s values --default` explains them",
		}
	}}
}

// preflightWanted is what the checks depend on.
func (r *release) preflightWanted(objects []helm.Object) (preflight.Wanted, error) {
	w := preflight.Wanted{Client: r.API, Namespace: r.Namespace, CreateNamespace: r.CreateNamespace, Installed: r.Installed, Objects: objects}
	values, err := helm.AllValues(r.helmRelease())
	if err != nil {
		return w, err
	}
	return w, w.Read(values)
}
