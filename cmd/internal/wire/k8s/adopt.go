package k8s

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// checkOwner refuses a release of another owner, and where one of Determined's is to be
// adopted, anything but that.
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

// Losses says what is lost by adopting, or nothing.
func (k *Opened) Losses(ctx context.Context) ([]string, error) {
	if !k.Target.Adopt {
		return nil, nil
	}
	return k.Target.Losses(ctx, k.Helm)
}

// unadoptableError is a value of the old release that the chart does not take.
type unadoptableError struct{ error }

func (e *unadoptableError) Unwrap() error { return e.error }

// Hint says how to leave it out.
func (e *unadoptableError) Hint() string {
	return "these come from the old release or from what you give: leave one out with --set KEY=null, or give another; `det-deploy k8s values --default` explains each"
}

func (k *Opened) wrapUnadoptable(err error, adopt bool) error {
	if _, values := errors.AsType[*helm.ValuesError](err); !values || !adopt {
		return err
	}
	return &unadoptableError{err}
}
