package podspec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// invalidTolerations returns an error text for each toleration that Kubernetes rejects. Without it the Job would be
// created and none of its pods.
func invalidTolerations(list []corev1.Toleration) []string {
	var out []string
	for i, t := range list {
		at := fmt.Sprintf("spec.tolerations[%d].", i)
		add := func(wrong bool, field, why string) {
			if wrong {
				out = append(out, at+field+" "+why)
			}
		}
		if t.Key != "" {
			errs := validation.IsQualifiedName(t.Key)
			add(len(errs) > 0, "key", fmt.Sprintf("must be a label name (%q): %s", t.Key, strings.Join(errs, "; ")))
		}
		switch t.Operator {
		case "", corev1.TolerationOpEqual:
			errs := validation.IsValidLabelValue(t.Value)
			add(len(errs) > 0, "value", fmt.Sprintf("must be a label value (%q): %s", t.Value, strings.Join(errs, "; ")))
			add(t.Key == "", "operator", "must be Exists: a toleration without a key is for all taints")
		case corev1.TolerationOpExists:
			add(t.Value != "", "value", "must not be set: with the operator Exists each value is tolerated")
		case corev1.TolerationOpLt, corev1.TolerationOpGt: // newer versions of Kubernetes have them
		default:
			add(true, "operator", fmt.Sprintf("must be Equal or Exists (%q)", t.Operator))
		}
		effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
		add(!slices.Contains(effects, t.Effect), "effect", fmt.Sprintf("must be NoSchedule, PreferNoSchedule or NoExecute (%q)", t.Effect))
		add(t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute, "effect", "must be NoExecute, because tolerationSeconds is set")
	}
	return out
}

// checkMounts returns an error for each mount of a container whose volume the merged pod spec does not have. field
// is the setting with the last merged pod spec.
func checkMounts(field string, s *corev1.PodSpec) error {
	var all []error
	check := func(at, volume string) {
		if !slices.ContainsFunc(s.Volumes, func(v corev1.Volume) bool { return v.Name == volume }) {
			all = append(all, &Refusal{Field: field, At: at, Why: at + " names a volume that spec.volumes does not have; add it there, or correct the name"})
		}
	}
	for _, c := range containersOf(s) {
		for _, m := range c.VolumeMounts {
			check(c.field+".volumeMounts["+m.Name+"]", m.Name)
		}
		for _, d := range c.VolumeDevices {
			check(c.field+".volumeDevices["+d.Name+"]", d.Name)
		}
	}
	return errors.Join(all...)
}
