package k8s

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// MakeNamespace makes the namespace of a cluster where create is true, and else
// refuses one that is not there. It is never removed: others may have put something
// into it.
func MakeNamespace(ctx context.Context, api kube.API, name string, create bool) error {
	_, err := api.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil || apierrors.IsForbidden(err):
		return nil
	case !apierrors.IsNotFound(err):
		return explainError("get", "namespaces", "", name, err)
	case !create:
		return missingNamespace(name)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managedBy: "det-deploy"}}}
	_, err = api.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return explainError("create", "namespaces", "", name, err)
}

func missingNamespace(name string) error {
	return &cloud.Error{
		Kind: cloud.NotFound, Op: "find namespace", Resource: name, Err: errors.New("it is not there"),
		Fix: "add --create-namespace, or choose another one with --namespace",
	}
}
