package observe

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// SlowReportAfter is how long a problem with a volume or the network must last to be reported,
// because Secrets and volumes are often a moment late.
const SlowReportAfter = 10 * time.Second

// SandboxReady reports whether a node is ready to start the containers of a pod.
func SandboxReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// AddWarning adds a node's warning if the pod's status contains no problem.
func (s *Container) AddWarning(warning string) {
	if warning != "" && s.Stuck == "" && s.State < apiv1.Container_STATE_STARTING {
		s.Stuck, s.Slow = warning, true
	}
}

// ReportAfter returns how long a problem must last to be reported.
func (s Container) ReportAfter() time.Duration {
	if s.Slow {
		return SlowReportAfter
	}
	return 0
}

// AllStarted reports whether every container of a pod has started. Until then its node reads
// Secrets for it.
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
