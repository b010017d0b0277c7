package pods

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// poolsOf names the pools whose pods may run on a node.
func (r *RM) poolsOf(n *corev1.Node) []string {
	var out []string
	for _, p := range r.cfg.Pools {
		if slices.ContainsFunc(r.places[p.Name], func(p place) bool { return p.admits(n) }) {
			out = append(out, p.Name)
		}
	}
	return out
}

// place is where pods of a pool may be.
type place struct {
	required    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// places are those of every pool: of tasks without slots, and with some.
func (c Config) places() (map[string][]place, error) {
	out := make(map[string][]place, len(c.Pools))
	for _, p := range c.Pools {
		for _, slots := range []int{0, min(1, p.Template.MaxSlotsPerPod)} {
			spec, err := podspec.Draft(rm.Request{Slots: slots}, p.Template)
			if err != nil {
				return nil, fmt.Errorf("resource pool %q: %w", p.Name, err)
			}
			out[p.Name] = append(out[p.Name], placeOf(spec))
		}
	}
	return out, nil
}

func placeOf(spec *corev1.PodSpec) place {
	return place{
		required:    nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity),
		tolerations: spec.Tolerations,
	}
}

// admits leaves out what passes: that a node is not ready, or cordoned.
func (p place) admits(n *corev1.Node) bool {
	if fits, err := p.required.Match(n); err != nil || !fits {
		return false
	}
	_, kept := corev1helpers.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, p.tolerations, func(t *corev1.Taint) bool {
		lasts := !strings.HasPrefix(t.Key, "node.kubernetes.io/")
		return lasts && t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return !kept
}
