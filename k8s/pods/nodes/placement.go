// Package nodes says what nodes are to resource pools, to clients, and to the decision
// which gang runs.
package nodes

import (
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Placement is where pods of a pool may be.
type Placement struct {
	required    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// PlacementOf reads where pods of a spec may be.
func PlacementOf(spec *corev1.PodSpec) Placement {
	return Placement{
		required:    nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity),
		tolerations: spec.Tolerations,
	}
}

// Admits leaves out what passes: that a node is not ready, or cordoned.
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
