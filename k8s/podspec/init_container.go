package podspec

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// reservedInit returns an error text for each field of the cluster's init container that a pod spec may not set.
func reservedInit(c *corev1.Container) []string {
	at := "spec.initContainers[" + InitContainer + "]."
	var out []string
	for _, field := range setFields(c) {
		switch field {
		case "name", "resources", "securityContext", "volumeMounts":
		default:
			out = append(out, at+field+" must not be set: of the cluster's init container, only resources, securityContext and volumeMounts are for pod specs")
		}
	}
	for _, m := range c.VolumeMounts {
		if to := path.Clean(m.MountPath); to == mountFiles || to == mountOrder {
			out = append(out, at+"volumeMounts["+m.MountPath+"] must not be set: the cluster puts its own files there")
		}
	}
	if s := c.SecurityContext; s != nil && (s.RunAsUser != nil || s.RunAsGroup != nil || s.RunAsNonRoot != nil) {
		out = append(out, at+"securityContext must not set runAsUser, runAsGroup or runAsNonRoot: it runs as the account that is linked to the task's user")
	}
	return out
}

// setFields returns the names of the fields that are set.
func setFields(c *corev1.Container) []string {
	data, _ := json.Marshal(c) // a container can always be marshaled
	var fields map[string]any
	_ = json.Unmarshal(data, &fields)
	return slices.Sorted(maps.Keys(fields))
}

// placeInit makes the cluster's init container the first one, with what a pod spec adds to it.
func (b *builder) placeInit(own corev1.Container) error {
	s := &b.pod.Spec
	at := slices.IndexFunc(s.InitContainers, func(c corev1.Container) bool { return c.Name == InitContainer })
	if at >= 0 {
		merged, err := mergeContainer(own, s.InitContainers[at])
		if err != nil {
			return err
		}
		own, s.InitContainers = merged, slices.Delete(s.InitContainers, at, at+1)
	}
	s.InitContainers = slices.Insert(s.InitContainers, 0, own)
	return nil
}

// mergeContainer merges the fields of a pod spec into a container, as `kubectl patch` does. A resource is given as a
// whole, with its request and its limit.
func mergeContainer(own, given corev1.Container) (corev1.Container, error) {
	for _, list := range []corev1.ResourceList{given.Resources.Limits, given.Resources.Requests} {
		for name := range list {
			delete(own.Resources.Limits, name)
			delete(own.Resources.Requests, name)
		}
	}
	base, err := json.Marshal(own)
	if err != nil {
		return own, fmt.Errorf("write container %s: %w", own.Name, err)
	}
	patch, err := json.Marshal(given)
	if err != nil {
		return own, fmt.Errorf("write container %s: %w", own.Name, err)
	}
	data, err := strategicpatch.StrategicMergePatch(base, patch, corev1.Container{})
	if err != nil {
		return own, fmt.Errorf("merge container %s: %w", own.Name, err)
	}
	var out corev1.Container
	if err := json.Unmarshal(data, &out); err != nil {
		return own, fmt.Errorf("read container %s: %w", own.Name, err)
	}
	return out, nil
}
