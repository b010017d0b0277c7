package k8s

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// place is where a cluster is on Kubernetes, and who asks for it there.
type place struct {
	Cluster, Namespace string
	Kube               *kube.Client
	API                kube.API
}

func (t *Target) newPlace() place { return place{t.Cluster, t.Namespace, t.Kube, t.API} }

// explainError translates the API server's error; nil stays nil.
func explainError(verb, resource, namespace, name string, err error) error {
	return kube.Translate(kube.Call{Verb: verb, Resource: resource, Namespace: namespace, Name: name}, err)
}

func (t place) explainError(verb, resource, name string, err error) error {
	return t.refuseIn(t.Namespace, verb, resource, name, err)
}

func (t place) refuseIn(namespace, verb, resource, name string, err error) error {
	return explainError(verb, resource, namespace, name, err)
}

// isOurs reports whether a master is one of this cluster's: another chart may give its
// own the same name.
func (t place) isOurs(d *appsv1.Deployment) bool {
	return d.Labels[clusterLabel] == t.Cluster || d.Spec.Template.Labels[clusterLabel] == t.Cluster
}

// ownSelector selects what belongs to the cluster itself and not to its tasks.
func (t place) ownSelector() string { return clusterLabel + "=" + t.Cluster + ",!" + taskLabel }

// standingSelector leaves errands out, the chart's own too: one that failed is kept for people to
// look at, and keeps nothing from being up.
func (t place) standingSelector() string {
	return t.ownSelector() + "," + component + " notin (" + componentUpgrade + "," + componentCheck + ")"
}

// idIn is an object's identity within its kind: the namespace is said where it is not
// the cluster's.
func (t place) idIn(ns, name string) string {
	if ns == t.Namespace {
		return name
	}
	return ns + "/" + name
}

// namespaceExists looks for a namespace. Who may not look is told that it is there:
// the next call knows better.
func (t place) namespaceExists(ctx context.Context, ns string) (bool, error) {
	_, err := t.API.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err == nil || apierrors.IsForbidden(err):
		return true, nil
	default:
		return false, t.refuseIn("", "get", "namespaces", ns, err)
	}
}

func (t place) listPods(ctx context.Context, selector string) ([]corev1.Pod, error) {
	list, err := t.API.CoreV1().Pods(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, t.explainError("list", "pods", "", err)
	}
	return list.Items, nil
}

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
