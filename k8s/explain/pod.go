package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// pullPatience is how long image pulls may fail before they count as lasting, because
	// registries have temporary failures.
	pullPatience = 90 * time.Second
	// configPatience is how long a Secret may be missing, because the init container of another pod
	// may create it.
	configPatience = time.Minute
	// mountRepeats is the maximum age of the latest event of a mount that keeps failing: the
	// kubelet's maximum backoff is two minutes and two seconds.
	mountRepeats = 150 * time.Second
	// crashes is the number of restarts after which a crash counts as lasting. A container may
	// start before its database.
	crashes = 4
	// unschedulablePatience is how long a pod may be unschedulable, because an autoscaler takes a
	// few minutes to add a node.
	unschedulablePatience = 5 * time.Minute
)

// explainPod returns the reasons why a pod is not ready.
func explainPod(p corev1.Pod, s Seen, now time.Time) []Trouble {
	if p.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	name := "pod " + p.Name
	age := now.Sub(p.CreationTimestamp.Time)
	if p.Status.Phase == corev1.PodFailed && len(p.Status.ContainerStatuses) == 0 {
		return []Trouble{{Object: name, What: "it was stopped: " + cmp.Or(p.Status.Message, p.Status.Reason), Fix: describeCommand(p)}}
	}
	if t, bad := explainUnscheduled(p, s, age); bad {
		return []Trouble{t}
	}
	var out []Trouble
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t, bad := explainContainer(p, c, s, age); bad {
			out = append(out, t)
		}
	}
	if t, bad := explainUnmounted(p, s, now); bad && len(out) == 0 {
		out = append(out, t)
	}
	return out
}

func hasStarted(p corev1.Pod) bool {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return false
}

func explainUnscheduled(p corev1.Pod, s Seen, age time.Duration) (Trouble, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || c.Reason == corev1.PodReasonSchedulingGated {
			continue
		}
		event := cmp.Or(eventOf(s.Events, "Pod", p.Name, "FailedScheduling"), c.Reason+": "+c.Message)
		return Trouble{
			Object: "pod " + p.Name, What: "unschedulable", Event: event,
			Fix: scheduleFix(event), Lasting: age > unschedulablePatience,
		}, true
	}
	return Trouble{}, false
}

// explainUnmounted explains why a node cannot create a pod's containers. Events are kept for an
// hour after the fact: an event that the pod has overcome is ignored, and one that is not repeated
// is not lasting.
func explainUnmounted(p corev1.Pod, s Seen, now time.Time) (Trouble, bool) {
	e := latestEvent(s.Events, "Pod", p.Name, "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox")
	if e == nil || hasStarted(p) || wasOvercome(e, p, s) {
		return Trouble{}, false
	}
	repeated := now.Sub(eventTime(e)) <= mountRepeats && now.Sub(scheduledAt(p)) > configPatience
	return Trouble{
		Object: "pod " + p.Name, What: "its containers cannot be created", Event: eventText(e), Fix: mountFix(p, eventText(e)),
		Lasting: strings.Contains(e.Message, "not found") && repeated,
	}, true
}

// wasOvercome reports whether a pod made progress after an event.
func wasOvercome(e *corev1.Event, p corev1.Pod, s Seen) bool {
	further := latestEvent(s.Events, "Pod", p.Name, "SuccessfulAttachVolume", "Pulling", "Pulled", "Created", "Started")
	return further != nil && eventTime(further).After(eventTime(e))
}

// scheduledAt returns the time at which a pod was scheduled, or else created.
func scheduledAt(p corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

// scheduleFix matches the scheduler's message, which has no codes. It falls back to general advice.
func scheduleFix(event string) string {
	switch {
	case strings.Contains(event, "unbound immediate PersistentVolumeClaims"), strings.Contains(event, "persistentvolumeclaim"):
		return "see why its PersistentVolumeClaim is not bound"
	case strings.Contains(event, "nvidia.com/gpu"), strings.Contains(event, "amd.com/gpu"):
		return "add a node with enough free GPUs, or reduce maxSlotsPerPod"
	case strings.Contains(event, "Insufficient"):
		return "add a node, or reduce the requests in the values"
	case strings.Contains(event, "taint"):
		return "remove the taint from a node, or add a toleration to the values"
	}
	return "see `kubectl describe nodes` for capacity and taints"
}

// explainContainer returns the reason why a container is not running.
func explainContainer(p corev1.Pod, c corev1.ContainerStatus, s Seen, age time.Duration) (Trouble, bool) {
	t := Trouble{Object: "pod " + p.Name}
	if w := c.State.Waiting; w != nil {
		return explainWaiting(t, p, c, s, age)
	}
	if r := c.State.Running; r != nil && !c.Ready {
		e := eventOf(s.Events, "Pod", p.Name, "Unhealthy")
		if e == "" {
			return Trouble{}, false // it is starting
		}
		t.What, t.Event, t.LogTail = fmt.Sprintf("container %s is running but fails its probe", c.Name), e, s.Logs[p.Name+"/"+c.Name]
		t.Fix = "see `" + readLogs(p, c.Name, false) + "`"
		return t, true
	}
	if e := c.State.Terminated; e != nil && e.ExitCode != 0 {
		return explainEnd(t, p, c, e, s), true
	}
	return Trouble{}, false
}

func explainWaiting(t Trouble, p corev1.Pod, c corev1.ContainerStatus, s Seen, age time.Duration) (Trouble, bool) {
	w := c.State.Waiting
	switch w.Reason {
	case "InvalidImageName":
		t.What, t.Lasting = fmt.Sprintf("container %s has an invalid image name: %s", c.Name, c.Image), true
		t.Event = cmp.Or(eventOf(s.Events, "Pod", p.Name, "InspectFailed", "Failed"), w.Reason+": "+w.Message)
		t.Fix = "set the image as REGISTRY/NAME:TAG with --set imageRegistry and the values of the image"
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError":
		t.What, t.Event = fmt.Sprintf("image %s cannot be pulled", imageOf(p, c)), pullWords(p, w, s.Events)
		t.Lasting = w.Reason == "ErrImageNeverPull" || age > pullPatience || notThere(t.Event)
		t.Fix = pullFix(p)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError":
		t.What, t.Lasting = fmt.Sprintf("container %s cannot be created: %s", c.Name, w.Message), age > configPatience
		t.Event = cmp.Or(eventOf(s.Events, "Pod", p.Name, "Failed", "FailedMount"), w.Reason+": "+w.Message)
		t.Fix = configFix(p, w.Message)
		if madeByMaster(w.Message) {
			t.Lasting, t.Fix = false, "the init container of the master's pod creates it: see why that one has not completed"
		}
	case "CrashLoopBackOff":
		if last := c.LastTerminationState.Terminated; last != nil {
			return explainEnd(t, p, c, last, s), true
		}
		t.What, t.Event = fmt.Sprintf("container %s crashes repeatedly", c.Name), w.Message
		t.Fix = "see `" + readLogs(p, c.Name, true) + "`"
	default:
		return Trouble{}, false // PodInitializing, ContainerCreating
	}
	return t, true
}

// pullWords returns the registry's error for an image. The kubelet reports it once per attempt, in
// an event and in the container's status; in between, the status only counts failures.
func pullWords(p corev1.Pod, w *corev1.ContainerStateWaiting, events []corev1.Event) string {
	var said []corev1.Event
	for _, e := range events {
		if e.Reason == "Failed" && !strings.HasPrefix(e.Message, "Error: ") {
			said = append(said, e)
		}
	}
	return cmp.Or(eventOf(said, "Pod", p.Name, "Failed"), w.Reason+": "+w.Message)
}

// notThere reports whether the registry does not have the image or the repository. It matches the
// message, because the kubelet has one code for all errors.
func notThere(words string) bool {
	return strings.Contains(words, "not found") || strings.Contains(words, "manifest unknown") || strings.Contains(words, "name unknown")
}

// explainEnd explains a container that exited with an error.
func explainEnd(t Trouble, p corev1.Pod, c corev1.ContainerStatus, e *corev1.ContainerStateTerminated, s Seen) Trouble {
	t.What = fmt.Sprintf("container %s exited with code %d", c.Name, e.ExitCode)
	t.Fix = "see `" + readLogs(p, c.Name, c.State.Terminated == nil) + "`"
	switch e.Reason {
	case "OOMKilled":
		t.What = fmt.Sprintf("container %s was killed: out of memory", c.Name)
		t.Fix = "raise its memory limit in the values"
	case "ContainerCannotRun", "StartError":
		t.What = fmt.Sprintf("container %s cannot be started: %s", c.Name, strings.TrimSpace(e.Message))
		t.Fix = "check that the image is for the architecture of this node, and that its command exists"
	}
	if c.RestartCount > 1 {
		t.What += fmt.Sprintf(", %d times", c.RestartCount)
	}
	t.Event = eventOf(s.Events, "Pod", p.Name, "BackOff")
	t.LogTail = s.Logs[p.Name+"/"+c.Name]
	t.Lasting = c.RestartCount >= crashes || p.Spec.RestartPolicy == corev1.RestartPolicyNever
	return t
}

// imageOf returns the image as written in the pod spec.
func imageOf(p corev1.Pod, c corev1.ContainerStatus) string {
	for _, spec := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if spec.Name == c.Name {
			return spec.Image
		}
	}
	return c.Image
}

func pullFix(p corev1.Pod) string {
	if len(p.Spec.ImagePullSecrets) == 0 {
		return "check the values imageRegistry, image.name and image.tag, as used by `det-deploy k8s image push`; for a private registry create a Secret with `kubectl create secret docker-registry` and set --set imagePullSecretName"
	}
	return fmt.Sprintf("check the values imageRegistry, image.name and image.tag, and that Secret %s contains valid credentials for the registry", p.Spec.ImagePullSecrets[0].Name)
}

func configFix(p corev1.Pod, message string) string {
	kind := "Secret or ConfigMap"
	if strings.HasPrefix(message, "secret") || strings.Contains(message, "Secret") {
		kind = "Secret"
	}
	return fmt.Sprintf("create the %s with the referenced key in namespace %s, or correct the value that references it", kind, p.Namespace)
}

// madeByMaster reports whether a container waits for the Secret that the chart's own pods need: the
// database may start before the master's image is pulled.
func madeByMaster(message string) bool {
	return strings.Contains(message, `secret "determined-secrets-`) && strings.Contains(message, "not found")
}

func mountFix(p corev1.Pod, event string) string {
	if strings.Contains(event, "not found") {
		return "create the missing object in namespace " + p.Namespace + ", or correct the value that references it"
	}
	return describeCommand(p)
}

func describeCommand(p corev1.Pod) string {
	return "see `kubectl describe pod -n " + p.Namespace + " " + p.Name + "`"
}

func readLogs(p corev1.Pod, container string, previous bool) string {
	s := "kubectl logs -n " + p.Namespace + " " + p.Name + " -c " + container
	if previous {
		s += " --previous"
	}
	return s
}
