// Package observe reads what the status of pods, Jobs and nodes means. It is pure: each
// meaning has a row in a table test and needs no cluster.
package observe

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Container is what a pod's status says of the task's container in it.
type Container struct {
	State apiv1.Container_State
	// Started says that the program has run: there may be lines.
	Started bool
	// Exit is set when state is TERMINATED.
	Exit *agentv1.Exit
	// Lost says that the exit is the machine's or the cluster's doing.
	Lost bool
	// FailedInit names the init container that did not end well, ours or one of the
	// pod spec's; its last lines say why.
	FailedInit string
	// Stuck says what keeps the container from starting and may do so for ever.
	Stuck string
	// hopeless says that what it is stuck in cannot pass, slow that it may take a
	// volume's time to pass.
	Hopeless, Slow bool
	Addresses      []*apiv1.Address
	// Host is the pod's address, empty while it has none.
	Host string
}

// Pod reads a pod. It is pure: what a pod's status means has a row in a table
// test, and needs no cluster.
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

// neverRan distinguishes a program that could not be started from one that ended with the
// same code.
func neverRan(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "StartError" || t.Reason == "ContainerCannotRun"
}

// withExit is a program that the kubelet has seen the end of.
func (s Container) withExit(pod *corev1.Pod, t *corev1.ContainerStateTerminated) Container {
	s.State, s.Addresses = apiv1.Container_STATE_TERMINATED, portAddresses(pod)
	s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: exitCode(t)}
	switch {
	case neverRan(t):
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: FirstText(t.Message, t.Reason)}
	case t.Reason == "ContainerStatusUnknown":
		// The kubelet has lost the container, for example because its machine was
		// started again: the code is the kubelet's invention.
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: FirstText(t.Message, "its node does not know the container any more")}
		s.Lost = true
	case t.Reason == "OOMKilled":
		s.Exit.Message = "it used more memory than its limit, and was killed (OOMKilled)"
	}
	if why := Disruption(pod); why != "" && s.Exit.GetCode() != 0 {
		s.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST, Message: why}
		s.Lost = true
	}
	return s
}

// exitCode is the program's own, or 128 and the number of the signal that ended it.
func exitCode(t *corev1.ContainerStateTerminated) int32 {
	if t.Signal != 0 && t.ExitCode == 0 {
		return 128 + t.Signal
	}
	return t.ExitCode & 0xff
}

// withoutProgram is a pod that ended without its program.
func (s Container) withoutProgram(pod *corev1.Pod) Container {
	s.State = apiv1.Container_STATE_TERMINATED
	why, failed := Disruption(pod), failedInit(pod)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		// A pod succeeds when all of its containers have; the status may leave
		// them out where no kubelet wrote it.
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
	default:
		// The kubelet refused it, or it was set to failed by a controller.
		s.Lost = true
		s.Exit = &agentv1.Exit{
			Kind:    agentv1.Exit_KIND_LOST,
			Message: "its pod failed: " + FirstText(pod.Status.Message, pod.Status.Reason, "Kubernetes gives no reason"),
		}
	}
	return s
}

// failedInit is the init container that kept the program from being started: that is
// the task's own failure, for the next node would do no better.
func failedInit(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if t := c.State.Terminated; t != nil && exitCode(t) != 0 && t.Reason != "ContainerStatusUnknown" && !isSidecar(pod, c.Name) {
			return c
		}
	}
	return nil
}

// isSidecar reports whether an init container runs beside the others.
func isSidecar(pod *corev1.Pod, name string) bool {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// Disruption says in words that the cluster ends or ended a pod, empty if it does not.
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

// FirstText is the first of texts that is more than blanks, trimmed.
func FirstText(candidates ...string) string {
	for _, c := range candidates {
		if c = strings.TrimSpace(c); c != "" {
			return c
		}
	}
	return ""
}

// waitingReason reads the reason for which a container waits. Those that belong to every
// start are none.
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

// portAddresses are the pod's ports: a pod is reached by its own address from
// anywhere in its cluster.
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

// Accepted reports whether a kubelet has taken the pod, and did not send it back.
func Accepted(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.StartTime != nil
}

// Rejection says why a pod was refused by its node before it ran: another pod was
// quicker, or the node is not what the scheduler took it for.
func Rejection(pod *corev1.Pod) string {
	if pod.Status.Phase != corev1.PodFailed || len(pod.Status.ContainerStatuses)+len(pod.Status.InitContainerStatuses) > 0 {
		return ""
	}
	return fmt.Sprintf("node %s refused the pod: %s", pod.Spec.NodeName, FirstText(pod.Status.Message, pod.Status.Reason))
}

// Overdue reports whether a pod should have been gone for a while: its node does
// not answer.
func Overdue(pod *corev1.Pod, patience time.Duration, now time.Time) bool {
	return pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > patience
}

// Finished reports whether all containers of a pod have ended.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// BoundAt is when the scheduler gave a pod its node.
func BoundAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// GracePeriod is how long a program has after SIGTERM when it is killed, or preempted and
// does not listen for the signal: what its pod spec says, in which the API server leaves
// nothing out. No pod gets more, because a kubelet that waits for a program to end does
// not heed that it is to wait less.
func GracePeriod(pod *corev1.Pod) time.Duration {
	seconds := int64(0)
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = min(*s, int64((1<<63-1)/time.Second))
	}
	return time.Duration(seconds) * time.Second
}

// Unschedulable is the scheduler's reason for not placing a pod.
func Unschedulable(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return FirstText(c.Message, c.Reason)
		}
	}
	return ""
}
