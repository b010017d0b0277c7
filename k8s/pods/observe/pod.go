// Package observe interprets the status of pods, Jobs and nodes. It makes no calls, so each case is
// tested in a table without a cluster.
package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Container is the state of a task's container according to its pod's status.
type Container struct {
	State apiv1.Container_State
	// Started is true if the program has run, so that there may be log lines.
	Started bool
	// Exit is set when State is TERMINATED.
	Exit *agentv1.Exit
	// Lost is true if the exit was caused by the machine or the cluster.
	Lost bool
	// Stopped is true if the program exited after its pod was deleted, by SIGTERM or SIGKILL.
	Stopped bool
	// FailedInit is the name of the failed init container, either det-deploy's or the pod spec's;
	// its last lines explain the failure.
	FailedInit string
	// Stuck is the reason why the container may never start.
	Stuck string
	// Hopeless is true if the problem cannot be temporary, and Slow if it may take as long as a
	// volume.
	Hopeless, Slow bool
	Addresses      []*apiv1.Address
	// Host is the pod's IP address, or empty.
	Host string
}

// Pod interprets the status of a pod.
func Pod(pod *corev1.Pod) Container {
	main, init := findStatus(pod.Status.ContainerStatuses, podspec.MainContainer), findStatus(pod.Status.InitContainerStatuses, podspec.InitContainer)
	s := Container{State: apiv1.Container_STATE_ASSIGNED, Started: hasRun(main), Host: pod.Status.PodIP}
	if pod.Spec.NodeName != "" {
		s.State = apiv1.Container_STATE_PULLING
	}
	switch {
	case main != nil && main.State.Terminated != nil:
		return s.withExit(pod, main.State.Terminated)
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return s.withoutProgram(pod)
	case main != nil && main.State.Running != nil:
		s.State, s.Addresses = apiv1.Container_STATE_RUNNING, portAddresses(pod)
		return s
	}
	if hasBegun(init) {
		s.State = apiv1.Container_STATE_STARTING
	}
	for _, c := range []*corev1.ContainerStatus{init, main} {
		if c != nil && c.State.Waiting != nil && s.Stuck == "" {
			s.Stuck, s.Hopeless = waitingReason(c.State.Waiting)
		}
	}
	return s
}

func findStatus(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

func hasRun(c *corev1.ContainerStatus) bool {
	return c != nil && (c.State.Running != nil || c.State.Terminated != nil && !neverRan(c.State.Terminated))
}

func hasBegun(c *corev1.ContainerStatus) bool {
	return c != nil && (c.State.Running != nil || c.State.Terminated != nil)
}

// neverRan distinguishes a program that could not be started from one that exited with the same
// code.
func neverRan(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "StartError" || t.Reason == "ContainerCannotRun"
}

// oomKilled is the reason of an exit for which the kernel has killed a program, and outOfMemory describes it.
const (
	oomKilled   = "OOMKilled"
	outOfMemory = "it used more memory than its limit, and was killed (OOMKilled)"
)

// withExit returns the state of a program whose exit the kubelet has reported.
func (s Container) withExit(pod *corev1.Pod, t *corev1.ContainerStateTerminated) Container {
	s.State, s.Addresses = apiv1.Container_STATE_TERMINATED, portAddresses(pod)
	s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: exitCode(t)}
	s.Stopped = wasStopped(pod, t)
	switch {
	case neverRan(t):
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: FirstText(t.Message, t.Reason)}
	case t.Reason == "ContainerStatusUnknown":
		// The kubelet has lost the container, for example because the machine was rebooted: the
		// exit code is made up by the kubelet.
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: FirstText(t.Message, "its node does not know the container any more")}
		s.Lost = true
	case t.Reason == oomKilled:
		s.Exit.Message = outOfMemory
	}
	if why := Disruption(pod); why != "" && s.Exit.GetCode() != 0 {
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: why}
		s.Lost = true
	}
	return s
}

// wasStopped reports whether a program exited after its pod was deleted.
func wasStopped(pod *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return !t.FinishedAt.Time.Before(pod.DeletionTimestamp.Add(-grace))
}

// exitCode returns the exit code, or 128 plus the number of the signal.
func exitCode(t *corev1.ContainerStateTerminated) int32 {
	if t.Signal != 0 && t.ExitCode == 0 {
		return 128 + t.Signal
	}
	return t.ExitCode & 0xff
}

// withoutProgram returns the state of a pod that ended without running the program.
func (s Container) withoutProgram(pod *corev1.Pod) Container {
	s.State = apiv1.Container_STATE_TERMINATED
	why, failed := Disruption(pod), failedInit(pod)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		// A pod succeeds when all of its containers have; their status may be missing if no kubelet
		// wrote it.
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED}
	case why != "":
		s.Lost = true
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: why}
	case failed != nil:
		s.FailedInit = failed.Name
		what := "its pod could not be prepared"
		if failed.Name == podspec.InitContainer {
			what = "the task's files could not be prepared"
		}
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: fmt.Sprintf(
			"%s: %s ended with code %d", what, failed.Name, failed.State.Terminated.ExitCode,
		)}
		if failed.State.Terminated.Reason == oomKilled {
			s.Exit.Message += ": " + outOfMemory
		}
	default:
		// The kubelet rejected it, or a controller set it to failed.
		s.Lost = true
		s.Exit = &agentv1.Exit{
			Kind:    agentv1.Exit_KIND_LOST,
			Message: "its pod failed: " + FirstText(pod.Status.Message, pod.Status.Reason, "Kubernetes gives no reason"),
		}
	}
	return s
}

// failedInit returns the init container that prevented the start of the program. This counts as the
// task's own failure, because it would fail on another node too.
func failedInit(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if t := c.State.Terminated; t != nil && exitCode(t) != 0 && t.Reason != "ContainerStatusUnknown" && !isSidecar(pod, c.Name) {
			return c
		}
	}
	return nil
}

// isSidecar reports whether an init container is a sidecar.
func isSidecar(pod *corev1.Pod, name string) bool {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// Disruption returns the reason why the cluster stops or stopped a pod, or "".
func Disruption(pod *corev1.Pod) string {
	switch pod.Status.Reason {
	case "Evicted", "NodeLost", "NodeShutdown", "Terminated", "Preempting", "Shutdown":
		return fmt.Sprintf("its pod was ended by node %s: %s", pod.Spec.NodeName, FirstText(pod.Status.Message, pod.Status.Reason))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return fmt.Sprintf("its pod on node %s was disrupted: %s", pod.Spec.NodeName, FirstText(c.Message, c.Reason))
		}
	}
	return ""
}

// FirstText returns the first text that is not blank, trimmed.
func FirstText(candidates ...string) string {
	for _, c := range candidates {
		if c = strings.TrimSpace(c); c != "" {
			return c
		}
	}
	return ""
}

// waitingReason returns the reason why a container waits, or "" for the reasons of every normal
// start.
func waitingReason(w *corev1.ContainerStateWaiting) (what string, hopeless bool) {
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return "", false
	}
	what = w.Reason
	if m := strings.TrimSpace(w.Message); m != "" {
		what += ": " + m
	}
	return what, w.Reason == "InvalidImageName" || w.Reason == "ErrImageNeverPull"
}

// portAddresses returns the addresses of the pod's ports, which can be reached from the whole
// cluster.
func portAddresses(pod *corev1.Pod) []*apiv1.Address {
	if pod.Status.PodIP == "" {
		return nil
	}
	var out []*apiv1.Address
	for _, c := range pod.Spec.Containers {
		if c.Name != podspec.MainContainer {
			continue
		}
		for _, p := range c.Ports {
			out = append(out, &apiv1.Address{
				ContainerIp: pod.Status.PodIP, ContainerPort: p.ContainerPort,
				HostIp: pod.Status.PodIP, HostPort: p.ContainerPort,
			})
		}
	}
	return out
}

// Accepted reports whether a kubelet has accepted the pod.
func Accepted(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.StartTime != nil
}

// Rejection returns the reason why the node rejected a pod before it ran, or "": another pod was
// faster, or the scheduler's view of the node was outdated.
func Rejection(pod *corev1.Pod) string {
	if pod.Status.Phase != corev1.PodFailed || len(pod.Status.ContainerStatuses)+len(pod.Status.InitContainerStatuses) > 0 {
		return ""
	}
	return fmt.Sprintf("node %s refused the pod: %s", pod.Spec.NodeName, FirstText(pod.Status.Message, pod.Status.Reason))
}

// Overdue reports whether a pod exists longer than patience after its deletion deadline, because
// its node does not respond.
func Overdue(pod *corev1.Pod, patience time.Duration, now time.Time) bool {
	return pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > patience
}

// Finished reports whether all containers of a pod have ended.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// BoundAt returns the time at which the scheduler bound a pod to its node.
func BoundAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// GracePeriod returns the time that a program has after SIGTERM when it is killed, or is preempted
// and only reacts to the signal: that of the pod spec, which the API server always sets. No pod
// gets more, because a kubelet that waits for a program to exit ignores a later, shorter period.
func GracePeriod(pod *corev1.Pod) time.Duration {
	seconds := int64(0)
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = min(*s, int64((1<<63-1)/time.Second))
	}
	return time.Duration(seconds) * time.Second
}

// Unseen reports whether a pod waits for a scheduler that has not looked at it yet.
func Unseen(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" || len(pod.Spec.SchedulingGates) > 0 {
		return false
	}
	return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason != corev1.PodReasonSchedulingGated
	})
}

// Unschedulable returns the scheduler's reason for not placing a pod, or "".
func Unschedulable(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return FirstText(c.Message, c.Reason)
		}
	}
	return ""
}
