package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// deleteOrder deletes the Secrets of a gang whose containers have all started: they
// hold the environment and the tokens of the task, nobody reads them again, and whoever
// may read Secrets of the namespace could. Pods that an earlier version made in another
// namespace keep theirs, where the master may delete none.
func (r *RM) deleteOrder(ctx context.Context, a *allocation, pods map[int]*corev1.Pod) time.Duration {
	if a.orderless || len(pods) < len(a.containers) {
		return 0
	}
	names := map[string]bool{}
	for _, pod := range pods {
		if pod.Namespace != r.cfg.Namespace {
			a.orderless = true
			return 0
		}
		if !allBegun(pod) {
			return 0
		}
		for _, name := range podspec.OrderOf(pod) {
			names[name] = true
		}
	}
	for name := range names {
		err := r.cfg.Client.CoreV1().Secrets(r.cfg.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return r.again(ctx, "delete the secrets of a task that has started", a, err)
		}
	}
	a.orderless = true
	return 0
}

// allBegun reports whether every container of a pod has started: until then its node
// reads Secrets for it.
func allBegun(pod *corev1.Pod) bool {
	if len(pod.Status.ContainerStatuses) < len(pod.Spec.Containers) {
		return false
	}
	for i := range pod.Status.ContainerStatuses {
		if !begun(&pod.Status.ContainerStatuses[i]) {
			return false
		}
	}
	return true
}
