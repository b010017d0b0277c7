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
		Fix: "omit --adopt-determined, or correct --cluster-id and --namespace; `helm list --all-namespaces` shows releases",
		Err: fmt.Errorf("there is no release of Determined's chart with that name in namespace %s", k.Helm.Namespace),
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
	return "these values come from the old release or from this command: remove one with --set KEY=null or replace it; `det-deploy k8s values --default` documents each"
}

func (k *Opened) wrapUnadoptable(err error, adopt bool) error {
	if _, values := errors.AsType[*helm.ValuesError](err); !values || !adopt {
		return err
	}
	return &unadoptableError{err}
}
