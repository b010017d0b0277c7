package kube

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Serves reports whether the API server has a kind, such as one of an operator that may not be
// installed. A list of a kind that it lacks is forbidden too. It returns true if that is unknown.
func (c *Client) Serves(ctx context.Context, of schema.GroupVersionResource) bool {
	api, err := c.Clientset()
	if err != nil {
		return true
	}
	all := discovery.ToDiscoveryInterfaceWithContext(api.Discovery())
	list, err := all.ServerResourcesForGroupVersionWithContext(ctx, of.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false
	}
	return err != nil || slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == of.Resource })
}
