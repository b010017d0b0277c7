package k8s

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// differences compares every live object of the release with the rendered one, a line
// an attribute. What cannot be brought to what is wanted is an error: all of it at
// once.
func (t *Target) differences(ctx context.Context) ([]resource.Drift, error) {
	changes, err := t.Helm.Diff(ctx, t.wanted())
	if err != nil {
		return nil, err
	}
	return driftOf(changes, t.Cluster)
}

// driftOf is pure: what is to be changed, or why it cannot be.
func driftOf(changes []helm.Change, cluster string) ([]resource.Drift, error) {
	var out []resource.Drift
	var errs []error
	for _, c := range changes {
		switch c.Verb {
		case helm.Create:
			out = append(out, resource.Drift{Path: c.Object.String(), Have: "none", Want: "is made"})
		case helm.Delete:
			out = append(out, resource.Drift{Path: c.Object.String(), Have: "is there", Want: "none"})
		case helm.Update:
			for _, d := range c.Drift {
				d.Path = c.Object.String() + " " + d.Path
				out = append(out, d)
			}
		case helm.Replace, helm.Foreign:
			errs = append(errs, inTheWay(c, cluster))
		}
	}
	return out, errors.Join(errs...)
}

// inTheWay is an object that Helm would stumble over.
func inTheWay(c helm.Change, cluster string) error {
	e := &cloud.Error{Kind: cloud.Conflict, Op: "change", Resource: c.Object.String(), Err: errors.New(c.Reason)}
	if c.Verb == helm.Foreign {
		e.Fix = "remove it, or choose another --cluster-id or --namespace"
		return e
	}
	e.Fix = fmt.Sprintf("give back the value that it has, or delete it with kubectl and run the command again; `det-deploy k8s values --cluster-id %s` shows the values", cluster)
	return e
}
