package gang

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Taint keeps pods that do not tolerate it from a node.
type Taint = corev1.Taint

// Resources maps resource names to amounts: milli-units for cpu, whole units for others.
type Resources map[corev1.ResourceName]int64

// ResourcesOf converts a Kubernetes resource list.
func ResourcesOf(list corev1.ResourceList) Resources {
	out := make(Resources, len(list))
	for name, q := range list {
		if name == corev1.ResourceCPU {
			out[name] = q.MilliValue()
		} else {
			out[name] = q.Value()
		}
	}
	return out
}

// Add adds the amounts of o.
func (r Resources) Add(o Resources) {
	for name, n := range o {
		r[name] += n
	}
}

// RequestsOf returns the requests of a pod, including one for the pod count: containers, init
// containers, overhead and pod-level requests.
func RequestsOf(spec *corev1.PodSpec) Resources {
	out := ResourcesOf(resource.PodRequests(&corev1.Pod{Spec: *spec}, resource.PodResourcesOptions{}))
	maps.DeleteFunc(out, func(_ corev1.ResourceName, n int64) bool { return n == 0 })
	out[corev1.ResourcePods] = 1
	return out
}

// Pod contains the placement constraints of a gang's pods. It is created once per gang, because
// decisions compare it often.
type Pod struct {
	requests    Resources
	tolerations []corev1.Toleration
	required    nodeaffinity.RequiredNodeAffinity
	// scheduler is the name of the scheduler, or "" for that of Kubernetes.
	scheduler string
	// place is equal for pods that may use the same nodes, and key for pods that also have the same
	// requests.
	place, key string
}

// PodOf converts a pod spec. Constraints about other pods (pod affinity, topology spread) and
// volumes are left to the scheduler.
func PodOf(spec *corev1.PodSpec) (*Pod, error) {
	var affinity *corev1.NodeAffinity
	if spec.Affinity != nil {
		affinity = spec.Affinity.NodeAffinity
	}
	// Preferred affinity excludes no node, and differs by gang.
	if affinity != nil && affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		affinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: affinity.RequiredDuringSchedulingIgnoredDuringExecution}
	} else {
		affinity = nil
	}
	only := &corev1.Affinity{NodeAffinity: affinity}
	place, err := json.Marshal([]any{spec.NodeSelector, affinity, spec.Tolerations})
	if err != nil {
		return nil, fmt.Errorf("read where a pod may be: %w", err)
	}
	p := &Pod{
		requests: RequestsOf(spec), tolerations: slices.Clone(spec.Tolerations),
		required: nodeaffinity.NewRequiredNodeAffinity(maps.Clone(spec.NodeSelector), only.DeepCopy()),
		place:    string(place),
	}
	p.key = p.place + p.formatRequests()
	if spec.SchedulerName != corev1.DefaultSchedulerName {
		p.scheduler = spec.SchedulerName
	}
	return p, nil
}

// coversPod reports whether the room of this pod is enough for another.
func (p *Pod) coversPod(o *Pod) bool {
	for name, amount := range o.requests {
		if p.requests[name] < amount {
			return false
		}
	}
	return true
}

// formatRequests formats the requests in a fixed order, for messages and comparisons.
func (p *Pod) formatRequests() string {
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(p.requests)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %s", p.requests[name], name)
	}
	return b.String()
}

// formatScarce formats the requests without the pod count.
func (p *Pod) formatScarce() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.requests)) {
		if name != corev1.ResourcePods {
			parts = append(parts, formatRequest(name, p.requests[name]))
		}
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return strings.Join(parts, ", ")
}

// formatRequest formats a requested amount. A part of a MiB counts as a whole one.
func formatRequest(name corev1.ResourceName, n int64) string {
	if inBytes(name) {
		n += 1<<20 - 1
	}
	return formatAmount(name, n)
}

// formatAmount formats an amount for messages, in the same unit for requests and nodes. A part of a MiB does not
// count.
func formatAmount(name corev1.ResourceName, n int64) string {
	switch {
	case name == corev1.ResourceCPU:
		return fmt.Sprintf("%g CPU", float64(n)/1000)
	case inBytes(name):
		return fmt.Sprintf("%d MiB %s", n>>20, name)
	}
	return fmt.Sprintf("%d %s", n, name)
}

func inBytes(name corev1.ResourceName) bool {
	return name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}
