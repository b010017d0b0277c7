package k8s

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// checkOwner returns an error if the release has another owner. With adopt set, it requires a release of
// Determined's chart.
func (k *Opened) checkOwner(adopt bool) error {
	switch {
	case !adopt:
		return k.Helm.ForeignError()
	case k.Helm.Alike:
		return nil
	case k.Helm.Foreign:
		return k.Helm.ForeignError()
	}
	return &cloud.Error{
		Kind: cloud.NotFound, Op: "adopt", Resource: "release " + k.Helm.Name,
		Fix: "leave --adopt-determined out, or name the right --cluster-id and --namespace; `helm list --all-namespaces` shows them",
		Err: fmt.Errorf("there is no release of Determined's chart of that name in namespace %s", k.Helm.Namespace),
	}
}

// Losses lists the losses of an adoption, if there are any.
func (k *Opened) Losses(ctx context.Context) ([]string, error) {
	if !k.Target.Adopt {
		return nil, nil
	}
	return k.Target.Losses(ctx, k.Helm)
}

// unadoptableError reports a value of the adopted release that the chart rejects.
type unadoptableError struct{ error }

func (e *unadoptableError) Unwrap() error { return e.error }

// Hint explains how to remove the value.
func (e *unadoptableError) Hint() string {
	return "these come from the old release or from what you give: leave one out with --set KEY=null, or give another; `det-deploy k8s values --default` explains each"
}

func (k *Opened) wrapUnadoptable(err error, adopt bool) error {
	if _, values := errors.AsType[*helm.ValuesError](err); !values || !adopt {
		return err
	}
	return &unadoptableError{err}
}
