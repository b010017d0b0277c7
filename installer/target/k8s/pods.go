package k8s

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is a pod of the cluster itself.
type Pod struct {
	Name string `json:"name"`
	// Component is master or database.
	Component string `json:"component"`
	// State is the state as in kubectl: Running, Pending, CrashLoopBackOff.
	State    string    `json:"state"`
	Ready    bool      `json:"ready"`
	Restarts int32     `json:"restarts"`
	Node     string    `json:"node,omitempty"`
	Since    time.Time `json:"since"`
}

// Task is a pod of a task.
type Task struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Task      string `json:"task"`
	User      string `json:"user,omitempty"`
	Pool      string `json:"pool,omitempty"`
	State     string `json:"state"`
}

// Pods returns the pods of the cluster itself.
func (t *Target) Pods(ctx context.Context) ([]Pod, error) {
	all, err := t.newPlace().listPods(ctx, t.newPlace().ownSelector())
	if err != nil {
		return nil, err
	}
	out := []Pod{}
	for _, p := range all {
		out = append(out, podOf(p))
	}
	slices.SortFunc(out, func(a, b Pod) int { return cmp.Or(-cmp.Compare(a.Component, b.Component), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

// podOf converts a pod for display. It is pure.
func podOf(p corev1.Pod) Pod {
	out := Pod{Name: p.Name, Component: p.Labels[component], State: stateOf(p), Node: p.Spec.NodeName, Since: p.CreationTimestamp.UTC()}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		out.Restarts += c.RestartCount
	}
	return out
}

// stateOf returns the status that `kubectl get pods` shows.
func stateOf(p corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			return c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
			return c.State.Terminated.Reason
		}
	}
	return string(p.Status.Phase)
}

// Tasks returns the active pods of tasks in all namespaces of the cluster.
func (t *Target) Tasks(ctx context.Context) ([]Task, error) {
	out := []Task{}
	for _, ns := range t.taskNamespaces() {
		list, err := t.API.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "=" + t.Cluster + "," + taskLabel})
		if isClosedElsewhere(err, ns, t.Namespace) {
			continue
		}
		if err != nil {
			return nil, t.newPlace().refuseIn(ns, "list", "pods", "", err)
		}
		for _, p := range list.Items {
			if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			const of = "determined.ai/"
			out = append(out, Task{p.Name, ns, p.Labels[of+"task_id"], p.Labels[of+"user"], p.Labels[of+"resource_pool"], stateOf(p)})
		}
	}
	slices.SortFunc(out, func(a, b Task) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod)) })
	return out, nil
}

// leftError reports objects that are not deleted in time.
type leftError struct {
	what  string
	limit time.Duration
	left  string
}

func (e *leftError) Error() string {
	return fmt.Sprintf("wait for %s: after %s %s", e.what, e.limit, e.left)
}

// Hint returns further commands that delete them.
func (*leftError) Hint() string {
	return "see `kubectl describe` for what holds it; a pod of a node that is gone goes with `kubectl delete pod --force`; then run the same command again"
}

// describePodsLeft describes the remaining pods. Without any, it returns owner.
func (t place) describePodsLeft(ctx context.Context, ns, selector, owner string) (string, error) {
	list, err := t.API.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return "", t.refuseIn(ns, "list", "pods", "", err)
	}
	return formatPodsLeft(list.Items, owner, time.Now()), nil
}

// formatPodsLeft is pure.
func formatPodsLeft(pods []corev1.Pod, owner string, now time.Time) string {
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

// describeHolders describes what prevents the deletion of an object: the pods of a Job, or those
// that use a claim.
func (t place) describeHolders(ctx context.Context, kind, ns, name string) (string, error) {
	switch kind {
	case kindJob, kindErrand:
		return t.describePodsLeft(ctx, ns, batchv1.JobNameLabel+"="+name, "it")
	case kindClaim:
		list, err := t.API.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", t.refuseIn(ns, "list", "pods", "", err)
		}
		return formatPodsLeft(podsUsing(list.Items, name), "it", time.Now()), nil
	}
	return "it is still there", nil
}

// podsUsing returns the pods that mount a claim. It is pure.
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
