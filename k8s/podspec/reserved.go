package podspec

import (
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// reservedFields returns an error text for each reserved field that a pod spec sets.
func reservedFields(p *corev1.Pod, t Template) []string {
	var out []string
	add := func(set bool, field, why string) {
		if set {
			out = append(out, field+" "+why)
		}
	}
	add(p.APIVersion != "" && p.APIVersion != "v1", "apiVersion", "must be v1")
	add(p.Kind != "" && p.Kind != "Pod", "kind", "must be Pod")
	out = append(out, reservedMeta(p)...)
	s := &p.Spec
	add(s.RestartPolicy != "" && s.RestartPolicy != corev1.RestartPolicyNever, "spec.restartPolicy", "must be Never: a task that fails is not started again by Kubernetes")
	add(len(s.SchedulingGates) > 0, "spec.schedulingGates", "must not be set: gates are how the pods of a task start together")
	add(s.NodeName != "", "spec.nodeName", "must not be set: it would pass by the scheduler; use nodeSelector")
	add(s.SchedulerName != "" && t.Scheduler != "" && s.SchedulerName != t.Scheduler, "spec.schedulerName", "must be "+t.Scheduler+", the cluster's default_scheduler")
	add(s.Hostname != "", "spec.hostname", "must not be set: each pod of a task has its own")
	add(len(s.EphemeralContainers) > 0, "spec.ephemeralContainers", "must not be set")
	add(p.Status.Phase != "" || len(p.Status.Conditions) > 0, "status", "must not be set")
	for key := range s.NodeSelector {
		add(strings.HasPrefix(key, "$"), "spec.nodeSelector["+key+"]", "must not be set: it directs how pod specs are merged, which is not a task's to say")
	}
	if c := s.SecurityContext; c != nil {
		add(c.RunAsUser != nil, "spec.securityContext.runAsUser", "must not be set: tasks run as the account that is linked to their user")
		add(c.RunAsGroup != nil, "spec.securityContext.runAsGroup", "must not be set: tasks run as the account that is linked to their user")
	}
	for _, v := range s.Volumes {
		add(isOwnVolume(v.Name), "spec.volumes["+v.Name+"]", "must have another name: those that begin with determined- are the cluster's")
	}
	out = append(out, reservedContainers(s, t)...)
	return out
}

func isOwnVolume(name string) bool { return strings.HasPrefix(name, "determined-") }

func reservedMeta(p *corev1.Pod) []string {
	var out []string
	m := &p.ObjectMeta
	for field, set := range map[string]bool{
		"name": m.Name != "", "generateName": m.GenerateName != "", "namespace": m.Namespace != "",
		"finalizers": len(m.Finalizers) > 0, "ownerReferences": len(m.OwnerReferences) > 0,
	} {
		if set {
			out = append(out, "metadata."+field+" must not be set: it is the cluster's to choose")
		}
	}
	for _, list := range []struct {
		field string
		keys  map[string]string
	}{{"labels", m.Labels}, {"annotations", m.Annotations}} {
		for key, value := range maps.All(list.keys) {
			if why := reservedKey(key, value); why != "" {
				out = append(out, "metadata."+list.field+"["+key+"] must not be set: "+why)
			}
		}
	}
	slices.Sort(out)
	return out
}

// reservedKey returns the reason why a pod spec may not set a label or annotation, or "". Some of
// them select the cluster's own pods: a task's pod with such a label would receive their logins.
func reservedKey(key, value string) string {
	if strings.HasPrefix(key, "$") {
		return "it directs how pod specs are merged, which is not a task's to say"
	}
	for _, prefix := range []string{"determined", "det-deploy", "batch.kubernetes.io/", "pod-group.scheduling.sigs.k8s.io/"} {
		if strings.HasPrefix(key, prefix) {
			return "the cluster marks its pods with labels and annotations that begin with " + prefix
		}
	}
	switch key {
	case "job-name", "controller-uid":
		return "it marks what belongs to a task"
	case "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component", "app.kubernetes.io/managed-by", "release":
		return "the cluster's own pods are found by it"
	case "app":
		if strings.HasPrefix(value, "determined-") {
			return "values that begin with determined- are those of the cluster's own pods"
		}
	}
	return ""
}

// reservedContainers returns an error text for each reserved name, volume mount or field of the
// containers.
func reservedContainers(s *corev1.PodSpec, t Template) []string {
	var out []string
	for _, c := range containersOf(s) {
		for _, m := range c.VolumeMounts {
			if isOwnVolume(m.Name) {
				out = append(out, c.field+".volumeMounts["+m.Name+"] must not be set: volumes that begin with determined- are the cluster's")
			}
		}
	}
	for i := range s.Containers {
		c := &s.Containers[i]
		if c.Name == MainContainer {
			out = append(out, reservedMain(c, t)...)
		} else if isOwnVolume(c.Name) {
			out = append(out, "spec.containers["+c.Name+"] must have another name: those that begin with determined- are the cluster's")
		}
	}
	for i := range s.InitContainers {
		c := &s.InitContainers[i]
		switch {
		case c.Name == InitContainer:
			out = append(out, reservedInit(c)...)
		case isOwnVolume(c.Name):
			out = append(out, "spec.initContainers["+c.Name+"] must have another name: those that begin with determined- are the cluster's")
		}
	}
	return out
}

func reservedMain(c *corev1.Container, t Template) []string {
	at := "spec.containers[" + MainContainer + "]."
	var out []string
	add := func(set bool, field, why string) {
		if set {
			out = append(out, at+field+" must not be set: "+why)
		}
	}
	add(c.Image != "", "image", "it is environment.image")
	add(c.ImagePullPolicy != "", "imagePullPolicy", "it is environment.force_pull_image")
	add(len(c.Command) > 0, "command", "it is the task's entrypoint")
	add(len(c.Args) > 0, "args", "they are the task's entrypoint")
	add(c.WorkingDir != "", "workingDir", "it is work_dir")
	add(c.RestartPolicy != nil, "restartPolicy", "a task that fails is not started again by Kubernetes")
	for _, e := range c.Env {
		add(strings.HasPrefix(e.Name, "DET_") || e.Name == indexVariable, "env["+e.Name+"]", "the cluster gives it; to change it, use environment.environment_variables")
	}
	for _, m := range c.VolumeMounts {
		add(path.Clean(m.MountPath) == runDir, "volumeMounts["+m.MountPath+"]", "the cluster puts its own files there")
	}
	if s := c.SecurityContext; s != nil {
		add(s.RunAsUser != nil, "securityContext.runAsUser", "tasks run as the account that is linked to their user")
		add(s.RunAsGroup != nil, "securityContext.runAsGroup", "tasks run as the account that is linked to their user")
	}
	slot := t.ResourceOfSlot()
	for _, list := range []struct {
		field string
		of    corev1.ResourceList
	}{{"limits", c.Resources.Limits}, {"requests", c.Resources.Requests}} {
		_, set := list.of[slot]
		// On CPUs, a task without slots may set its CPU request.
		add(set && t.SlotType.GPU(), "resources."+list.field+"["+string(slot)+"]", "it is resources.slots")
	}
	return out
}
