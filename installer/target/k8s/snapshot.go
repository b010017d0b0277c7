package k8s

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// snapshotResource is the VolumeSnapshots, which the chart makes where db.snapshotSuffix
// asks for one. Not every Kubernetes knows them.
func snapshotResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}
}

// listSnapshots are those of the cluster's data. Where Kubernetes knows none, or does
// not let us look, there are none that we could remove.
func (t inventory) listSnapshots(ctx context.Context, cluster string) ([]resource.Found, error) {
	api, err := t.Kube.Objects(snapshotResource(), t.Namespace)
	if err != nil {
		return nil, err
	}
	list, err := api.List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "=" + cluster})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.explainError("list", "volumesnapshots", "", err)
	}
	var out []resource.Found
	for _, s := range list.Items {
		out = t.addObject(out, kindSnapshot, &metav1.ObjectMeta{Namespace: s.GetNamespace(), Name: s.GetName(), Labels: s.GetLabels()}, holdsBackup)
	}
	return out, nil
}
