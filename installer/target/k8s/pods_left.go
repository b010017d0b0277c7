package k8s

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leftError is what does not go, with what is left of it.
type leftError struct {
	what  string
	limit time.Duration
	left  string
}

func (e *leftError) Error() string {
	return fmt.Sprintf("wait for %s: after %s %s", e.what, e.limit, e.left)
}

// Hint says what else makes it go.
func (*leftError) Hint() string {
	return "see `kubectl describe` for what holds it; a pod of a node that is gone goes with `kubectl delete pod --force`; then run the same command again"
}

// describePodsLeft says which pods are still there. Without any it is what is said of their owner,
// or nothing.
func (t place) describePodsLeft(ctx context.Context, ns, selector, owner string) (string, error) {
	list, err := t.API.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return "", t.refuseIn(ns, "list", "pods", "", err)
	}
	return sayLeft(list.Items, owner, time.Now()), nil
}

// sayLeft is pure.
func sayLeft(pods []corev1.Pod, owner string, now time.Time) string {
	var out []string
	for _, p := range pods {
		s := "pod " + p.Name + " is " + stateOf(p)
		if p.DeletionTimestamp != nil {
			s += " since " + now.Sub(p.DeletionTimestamp.Time).Round(time.Second).String()
		}
		if p.Spec.NodeName != "" {
			s += " on node " + p.Spec.NodeName
		}
		if len(p.Finalizers) > 0 {
			s += ", held by " + strings.Join(p.Finalizers, ", ")
		}
		out = append(out, s)
	}
	if len(out) == 0 && owner != "" {
		return owner + " is still there"
	}
	return strings.Join(out, "; ")
}

// describeHolders says what keeps an object of the inventory from going: a Job's pods, or those that
// use a claim.
func (t place) describeHolders(ctx context.Context, kind, ns, name string) (string, error) {
	switch kind {
	case kindJob, kindErrand:
		return t.describePodsLeft(ctx, ns, batchv1.JobNameLabel+"="+name, "it")
	case kindClaim:
		list, err := t.API.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", t.refuseIn(ns, "list", "pods", "", err)
		}
		return sayLeft(podsUsing(list.Items, name), "it", time.Now()), nil
	}
	return "it is still there", nil
}

// podsUsing is pure: the pods that mount a claim.
func podsUsing(pods []corev1.Pod, claim string) []corev1.Pod {
	var out []corev1.Pod
	for _, p := range pods {
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
				out = append(out, p)
			}
		}
	}
	return out
}
