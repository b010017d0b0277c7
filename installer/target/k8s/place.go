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

// place is the location of a cluster, with the clients to access it.
type place struct {
	Cluster, Namespace string
	Kube               *kube.Client
	API                kube.API
}

func (t *Target) newPlace() place { return place{t.Cluster, t.Namespace, t.Kube, t.API} }

// explainError translates an error of the API server; nil stays nil.
func explainError(verb, resource, namespace, name string, err error) error {
	return kube.Translate(kube.Call{Verb: verb, Resource: resource, Namespace: namespace, Name: name}, err)
}

func (t place) explainError(verb, resource, name string, err error) error {
	return t.refuseIn(t.Namespace, verb, resource, name, err)
}

func (t place) refuseIn(namespace, verb, resource, name string, err error) error {
	return explainError(verb, resource, namespace, name, err)
}

// isOurs reports whether a master belongs to this cluster, because another chart may use the same
// name.
func (t place) isOurs(d *appsv1.Deployment) bool {
	return d.Labels[clusterLabel] == t.Cluster || d.Spec.Template.Labels[clusterLabel] == t.Cluster
}

// ownSelector selects the objects of the cluster itself, without those of its tasks.
func (t place) ownSelector() string { return clusterLabel + "=" + t.Cluster + ",!" + taskLabel }

// standingSelector also omits errands, including the chart's own: failed ones are kept for
// inspection and do not affect the cluster's state.
func (t place) standingSelector() string {
	return t.ownSelector() + "," + component + " notin (" + componentUpgrade + "," + componentCheck + ")"
}

// idIn returns an object's identity within its kind, which includes the namespace if that is not
// the cluster's.
func (t place) idIn(ns, name string) string {
	if ns == t.Namespace {
		return name
	}
	return ns + "/" + name
}

// namespaceExists reports whether a namespace exists. Without permission to read it, it returns
// true, and the next call fails if it does not exist.
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

// MakeNamespace creates the namespace of a cluster if create is true, and otherwise returns an
// error if it does not exist. The namespace is never deleted, because it may contain other objects.
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
