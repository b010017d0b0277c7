// Package nodes relates nodes to resource pools and agents, and describes their capacity for
// scheduling decisions.
package nodes

import (
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Placement contains the placement constraints of a resource pool's pods.
type Placement struct {
	required    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// PlacementOf returns the placement constraints of a pod spec.
func PlacementOf(spec *corev1.PodSpec) Placement {
	return Placement{
		required:    nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity),
		tolerations: spec.Tolerations,
	}
}

// Admits reports whether pods may run on a node. It ignores temporary conditions: not ready, or
// cordoned.
func (p Placement) Admits(n *corev1.Node) bool {
	if fits, err := p.required.Match(n); err != nil || !fits {
		return false
	}
	_, kept := corev1helpers.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, p.tolerations, func(t *corev1.Taint) bool {
		lasts := !strings.HasPrefix(t.Key, "node.kubernetes.io/")
		return lasts && t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return !kept
}
