package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/det-deploy/det-deploy/master/rm"
)

// giveSlots sets the slots as requests and limits of a pod.
func giveSlots(s *corev1.PodSpec, main *corev1.Container, t Template, slots int) error {
	if slots == 0 {
		return nil
	}
	name := t.ResourceOfSlot()
	q := *resource.NewQuantity(int64(slots), resource.DecimalSI)
	if t.SlotType == CPU {
		q = *resource.NewMilliQuantity(int64(t.SlotCPU*1000*float64(slots)+0.5), resource.DecimalSI)
	}
	r := &main.Resources
	for _, list := range []*corev1.ResourceList{&r.Limits, &r.Requests} {
		if _, set := (*list)[name]; set {
			return refuseField("environment.pod_spec", "spec.containers[%s].resources says %s, which a task with slots gets from resources.slots", MainContainer, name)
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = q
	}
	if t.SlotType.GPU() {
		addTolerations(s, string(name))
		addTolerations(s, string(t.SlotType.Resource())) // the taint of nodes whose GPUs are split
	}
	return nil
}

// addTolerations lets pods with a device use nodes that are reserved for them, which by convention
// have a taint with the name of the resource.
func addTolerations(s *corev1.PodSpec, key string) {
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
	if !slices.ContainsFunc(s.Tolerations, func(o corev1.Toleration) bool { return o == t }) {
		s.Tolerations = append(s.Tolerations, t)
	}
}

// excludeNodes excludes nodes. The terms of a node affinity are alternatives, so each one needs the
// exclusion.
func excludeNodes(s *corev1.PodSpec, agents []rm.AgentID) {
	if len(agents) == 0 {
		return
	}
	if s.Affinity == nil {
		s.Affinity = &corev1.Affinity{}
	}
	if s.Affinity.NodeAffinity == nil {
		s.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	n := s.Affinity.NodeAffinity
	if n.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		n.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	terms := n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		for _, a := range agents {
			terms[i].MatchFields = append(terms[i].MatchFields, corev1.NodeSelectorRequirement{
				Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{string(a)},
			})
		}
	}
}
