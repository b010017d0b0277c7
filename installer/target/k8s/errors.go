package k8s

import (
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// refuse puts what the API server says into our words; nil stays nil.
func refuse(verb, resource, namespace, name string, err error) error {
	return kube.Translate(kube.Call{Verb: verb, Resource: resource, Namespace: namespace, Name: name}, err)
}

func (t *Target) refuse(verb, resource, name string, err error) error {
	return t.refuseIn(t.Namespace, verb, resource, name, err)
}

func (t *Target) refuseIn(namespace, verb, resource, name string, err error) error {
	return refuse(verb, resource, namespace, name, err)
}
