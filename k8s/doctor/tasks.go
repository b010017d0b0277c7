package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Tasks contains the values about tasks.
type Tasks struct {
	// Root is true if tasks of users without a linked account run as root.
	Root bool
	// Containers are the largest task containers that the values define, without slots and with the
	// slots of one node. A task may request more.
	Containers []corev1.Container
}

// taskContainer is the name of the task's container in a pod spec.
const taskContainer = "determined-container"

// taskContainerOf returns the container of a task: the resources from the resource pool's pod spec,
// plus the slots.
func taskContainerOf(pod corev1.Pod, name string, slots corev1.ResourceList) corev1.Container {
	out := corev1.Container{Name: name}
	for _, c := range pod.Spec.Containers {
		if c.Name == taskContainer {
			out.Resources = *c.Resources.DeepCopy()
		}
	}
	for _, list := range []*corev1.ResourceList{&out.Resources.Requests, &out.Resources.Limits} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		for r, q := range slots {
			(*list)[r] = q
		}
	}
	return out
}

// slotsOf returns the requests of a pod with maxSlotsPerPod slots.
func slotsOf(s Slots, cpu float64) corev1.ResourceList {
	if s.Resource != "" {
		return corev1.ResourceList{s.Resource: *resource.NewQuantity(int64(s.MaxPerPod), resource.DecimalSI)}
	}
	const milli = 1000
	if cpu == 0 {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(cpu*milli)*int64(s.MaxPerPod), resource.DecimalSI)}
}

// tasksNamespace returns the namespace in which tasks run.
func (w Wanted) tasksNamespace() string {
	if w.TaskNamespace != "" {
		return w.TaskNamespace
	}
	return w.Namespace
}

// taskQuota compares the task containers in the values with the limits of their namespace. It never
// fails, because a task may set its own requests.
func (w Wanted) taskQuota(ctx context.Context) Result {
	quotas, limits, unknown := w.limitsOf(ctx, w.tasksNamespace())
	if unknown != nil {
		return *unknown
	}
	return judgeTaskLimits(w.Tasks, quotas, limits, w.tasksNamespace())
}

// judgeTaskLimits makes no calls.
func judgeTaskLimits(t Tasks, quotas []corev1.ResourceQuota, limits []corev1.LimitRange, namespace string) Result {
	for i := range quotas {
		quotas[i] = *quotas[i].DeepCopy()
		quotas[i].Status.Used = nil // current usage changes with the tasks
	}
	var silent, over []string
	for _, k := range t.Containers {
		c := consumption{sum: corev1.ResourceList{}}
		c.addPods(corev1.PodSpec{Containers: []corev1.Container{k}}, 1)
		silent = append(silent, silentOn(c, quotas, limits)...)
		over = append(over, overQuotas(c, quotas)...)
		over = append(over, overLimits(c, limits)...)
	}
	r := Result{Answer: Unknown, Needed: "requests and limits that tasks of this namespace can satisfy"}
	found := slices.Concat(silent, over)
	slices.Sort(found)
	r.Found = strings.Join(slices.Compact(found), "; ")
	switch {
	case len(silent) > 0:
		r.Fix = fmt.Sprintf("set resources of container %s in taskContainerDefaults.cpuPodSpec and gpuPodSpec, or create a LimitRange with defaults in namespace %s; otherwise each task must set them in environment.pod_spec",
			taskContainer, namespace)
	case len(over) > 0:
		r.Fix = fmt.Sprintf("raise the limits of namespace %s (see `kubectl describe quota,limitrange -n %s`), or reduce maxSlotsPerPod and the requests in taskContainerDefaults", namespace, namespace)
	case len(quotas)+len(limits) == 0:
		return passResult("there is none")
	default:
		return passResult("a task of %s fits", "maxSlotsPerPod slots")
	}
	return r
}

// mayTend checks the permissions to list and delete what tasks leave in their namespace.
func (w Wanted) mayTend(ctx context.Context) Result {
	var needs []need
	for _, n := range []need{{group: "batch", resource: "jobs"}, {resource: "pods"}, {resource: "secrets"}} {
		for _, verb := range []string{"list", "delete"} {
			needs = append(needs, need{verb, n.group, n.resource, w.TaskNamespace, ""})
		}
	}
	needs = append(needs, need{verb: "list", resource: "events", namespace: w.TaskNamespace})
	return w.askAccess(ctx, needs, "permission to count tasks and to remove what they leave")
}
