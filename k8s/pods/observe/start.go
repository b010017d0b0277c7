package observe

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// SlowReportAfter is how long a volume or a network must keep a pod from starting to be
// worth a line: Secrets and volumes are often a moment late.
const SlowReportAfter = 10 * time.Second

// SandboxReady reports whether a node has got as far as the containers of a pod.
func SandboxReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// AddWarning adds a node's warning where the pod's status says nothing.
func (s *Container) AddWarning(warning string) {
	if warning != "" && s.Stuck == "" && s.State < apiv1.Container_STATE_STARTING {
		s.Stuck, s.Slow = warning, true
	}
}

// ReportAfter is how long a problem must last to be reported.
func (s Container) ReportAfter() time.Duration {
	if s.Slow {
		return SlowReportAfter
	}
	return 0
}

// AllStarted reports whether every container of a pod has started: until then its node
// reads Secrets for it.
func AllStarted(pod *corev1.Pod) bool {
	if len(pod.Status.ContainerStatuses) < len(pod.Spec.Containers) {
		return false
	}
	for i := range pod.Status.ContainerStatuses {
		if !hasBegun(&pod.Status.ContainerStatuses[i]) {
			return false
		}
	}
	return true
}
