package k8s

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is one pod of the cluster itself.
type Pod struct {
	Name string `json:"name"`
	// Component is master or database.
	Component string `json:"component"`
	// State is Kubernetes' word for what it does: Running, Pending, CrashLoopBackOff.
	State    string    `json:"state"`
	Ready    bool      `json:"ready"`
	Restarts int32     `json:"restarts"`
	Node     string    `json:"node,omitempty"`
	Since    time.Time `json:"since"`
}

// Task is one pod of a task.
type Task struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Task      string `json:"task"`
	User      string `json:"user,omitempty"`
	Pool      string `json:"pool,omitempty"`
	State     string `json:"state"`
}

// Pods lists the pods of the cluster itself.
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

// podOf is pure: what a person wants to know of a pod.
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

// stateOf is what `kubectl get pods` would say.
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

// Tasks lists the pods of tasks that are not over, in every namespace of the cluster.
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
