package k8s

import (
	"context"
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// glance is the polling interval for objects that are about to change. An upgrade polls some
	// ten times while no master serves.
	glance = 500 * time.Millisecond
	// goneLimit is how long pods may take to terminate: a master has a minute to stop, and its node
	// may report the end another minute later.
	goneLimit = 3 * time.Minute
)

// readDeployment returns the master's Deployment, or nil if it does not exist.
func (t place) readDeployment(ctx context.Context) (*appsv1.Deployment, error) {
	name := masterPrefix + t.Cluster
	d, err := t.API.AppsV1().Deployments(t.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil means none
	}
	if err != nil {
		return nil, t.explainError("get", "deployments", name, err)
	}
	if !t.isOurs(d) {
		return nil, nil //nolint:nilnil // a release of another chart
	}
	return d, nil
}

// Serves reports whether the master is set to run and available.
func (t *Target) Serves(ctx context.Context) (bool, error) {
	d, err := t.newPlace().readDeployment(ctx)
	return err == nil && d != nil && !isStopped(d) && isAvailable(d), err
}

// stopMaster scales the master to zero and waits until its pods are gone. Afterwards, no process
// writes the store or creates pods for tasks.
func (t waiter) stopMaster(ctx context.Context) error {
	d, err := t.readDeployment(ctx)
	if err != nil || d == nil {
		return err
	}
	if err := t.scaleMaster(ctx, d, 0); err != nil {
		return err
	}
	return t.awaitGone(ctx, goneLimit, "the master's pod to go", func(ctx context.Context) (string, error) {
		return t.describePodsLeft(ctx, t.Namespace, selectorOf(d), "")
	})
}

// scaleMaster sets the number of masters to one or zero.
func (t place) scaleMaster(ctx context.Context, d *appsv1.Deployment, n int32) error {
	if d.Spec.Replicas != nil && *d.Spec.Replicas == n {
		return nil
	}
	change, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": n}})
	if err != nil {
		return err
	}
	_, err = t.API.AppsV1().Deployments(t.Namespace).Patch(ctx, d.Name, types.MergePatchType, change, metav1.PatchOptions{})
	return t.explainError("patch", "deployments", d.Name, err)
}

// isStopped reports whether the master is scaled to zero.
func isStopped(d *appsv1.Deployment) bool { return d.Spec.Replicas != nil && *d.Spec.Replicas == 0 }

func selectorOf(d *appsv1.Deployment) string { return metav1.FormatLabelSelector(d.Spec.Selector) }
