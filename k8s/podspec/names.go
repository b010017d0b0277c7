package podspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Gate is the scheduling gate of a gang's pods.
const Gate = "det-deploy.dev/gang"

// Container names in a task's pod, as in Determined 0.38.1.
const (
	MainContainer = "determined-container"
	InitContainer = "determined-init-container"
)

// Labels of a task's Job, its pods and its Secrets. Users' kubectl commands may select by those of
// Determined 0.38.1.
const (
	// LabelTask is set on all objects of tasks, and on no others.
	LabelTask         = "determined"
	LabelCluster      = "det-deploy.dev/cluster"
	LabelAttempt      = "det-deploy.dev/attempt"
	LabelUser         = "determined.ai/user"
	LabelWorkspace    = "determined.ai/workspace"
	LabelPool         = "determined.ai/resource_pool"
	LabelTaskType     = "determined.ai/task_type"
	LabelTaskID       = "determined.ai/task_id"
	LabelAllocationID = "determined.ai/allocation_id"
	// LabelContainerID is set on pods when their gates are removed. The pods of a gang without
	// gates only differ by LabelIndex.
	LabelContainerID = "determined.ai/container_id"
)

// Annotations of the same objects, for values that are not valid labels.
const (
	AnnotationAllocation = "det-deploy.dev/allocation"
	AnnotationJob        = "det-deploy.dev/job"
	AnnotationName       = "det-deploy.dev/name"
	AnnotationUser       = "det-deploy.dev/user"
)

// LabelIndex is the label with a pod's rank, set by Kubernetes.
const LabelIndex = "batch.kubernetes.io/job-completion-index"

// ids is the UUID namespace of container IDs.
const ids = "3c8f3f4f-3b7e-4d0a-9a55-2f4a5a7b0c11"

// ContainerID returns the ID of the container of a rank. It is derived from the allocation, so that
// it is the same in all attempts, and ends in the rank, because the pods of a Job share a template
// in which an expression inserts the rank.
func ContainerID(a rm.AllocationID, rank int) rm.ContainerID {
	return rm.ContainerID(containerPrefix(a) + strconv.Itoa(rank))
}

func containerPrefix(a rm.AllocationID) string {
	space := uuid.NewSHA1(uuid.NameSpaceOID, []byte(ids))
	return uuid.NewSHA1(space, []byte(a)).String() + "-"
}

// RankOf returns the rank of a pod in its Job; found is false without one.
func RankOf(pod *corev1.Pod) (rank int, found bool) {
	rank, err := strconv.Atoi(pod.Labels[LabelIndex])
	if err != nil {
		rank, err = strconv.Atoi(pod.Annotations[LabelIndex])
	}
	return rank, err == nil && rank >= 0
}

// Gated reports whether a pod still has det-deploy's gate.
func Gated(pod *corev1.Pod) bool {
	return HasGate(&pod.Spec)
}

// HasGate reports whether a pod spec has det-deploy's gate.
func HasGate(s *corev1.PodSpec) bool {
	return slices.ContainsFunc(s.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == Gate })
}

// maxName leaves room for the suffix that a Job appends to host names: "-" and a rank of up to four
// digits.
const maxName = 63 - 5

// jobPrefix is the prefix of all Jobs of tasks and of their Secrets.
const jobPrefix = "det-"

// JobName returns the name of the Job of one attempt. The names of its Secrets start with it.
func JobName(a rm.AllocationID, attempt int) string {
	name := jobPrefix + cleanName(string(a)) + "-" + strconv.Itoa(attempt)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxName-9] + "-" + hex.EncodeToString(sum[:4])
}

func cleanName(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, s), "-")
}

// LabelValue converts s to a valid label value: invalid characters become "_".
func LabelValue(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '_'
	}, s)
	if len(s) > 63 {
		s = s[:63]
	}
	return strings.Trim(s, "-_.")
}

// setAnnotations sets det-deploy's labels and annotations on the pod.
func (b *builder) setAnnotations() {
	b.pod.Labels = withAll(b.pod.Labels, b.podLabels())
	b.pod.Annotations = withAll(b.keepAnnotations(), withAll(b.pod.Annotations, b.podAnnotations()))
	if b.request.Template.Scheduler == Coscheduler && b.request.Slots > 0 {
		b.pod.Labels["pod-group.scheduling.sigs.k8s.io/name"] = b.jobName()
		b.pod.Labels["pod-group.scheduling.sigs.k8s.io/min-available"] = strconv.Itoa(b.pods)
	}
}

// keepAnnotations returns the annotations that keep autoscalers from removing the node of a pod whose task cannot be
// run again. A pod spec may set them otherwise.
func (b *builder) keepAnnotations() map[string]string {
	if b.request.Preemptible {
		return nil
	}
	return map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
}

func (b *builder) jobName() string { return JobName(b.request.Allocation, b.request.Attempt) }

func (b *builder) podLabels() map[string]string {
	r := b.request
	out := map[string]string{
		LabelTask: LabelValue(string(r.Allocation)), LabelCluster: LabelValue(r.Template.Cluster),
		LabelAttempt: strconv.Itoa(r.Attempt), LabelAllocationID: LabelValue(string(r.Allocation)),
		LabelTaskID: LabelValue(string(r.Task)), LabelTaskType: LabelValue(b.spec.GetTaskType()),
	}
	for label, value := range map[string]string{LabelUser: r.Username, LabelWorkspace: r.Workspace, LabelPool: r.Pool} {
		if v := LabelValue(value); v != "" {
			out[label] = v
		}
	}
	return out
}

func (b *builder) podAnnotations() map[string]string {
	r := b.request
	return map[string]string{
		AnnotationAllocation: string(r.Allocation), AnnotationJob: string(r.Job),
		AnnotationName: r.Name, AnnotationUser: r.Username,
	}
}

func withAll(to, from map[string]string) map[string]string {
	if to == nil {
		to = make(map[string]string, len(from))
	}
	for k, v := range from {
		to[k] = v
	}
	return to
}

// objectMeta returns the metadata of an object of this attempt.
func (b *builder) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: b.request.Template.Namespace, Labels: b.podLabels(), Annotations: b.podAnnotations(),
	}
}

// OpenPatch returns the strategic merge patch that removes a pod's gate, sets its container ID, and
// adds a preference for node, if not empty. The scheduler may choose another node.
func OpenPatch(pod *corev1.Pod, a rm.AllocationID, node gang.NodeID) ([]byte, error) {
	rank, found := RankOf(pod)
	if !found {
		return nil, fmt.Errorf("open pod %s: it has no rank", pod.Name)
	}
	type object = map[string]any
	spec := object{"schedulingGates": []object{{"name": Gate, "$patch": "delete"}}}
	if node != "" {
		spec["affinity"] = object{"nodeAffinity": object{
			"preferredDuringSchedulingIgnoredDuringExecution": append(nodePreferences(pod), preferenceOf(node)),
		}}
	}
	return json.Marshal(object{
		"metadata": object{"uid": pod.UID, "labels": object{LabelContainerID: string(ContainerID(a, rank))}},
		"spec":     spec,
	})
}

// preferenceOf returns a preference for a node.
func preferenceOf(node gang.NodeID) corev1.PreferredSchedulingTerm {
	return corev1.PreferredSchedulingTerm{
		Weight: 100,
		Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{string(node)}},
		}},
	}
}

// preferNodes adds preferences for nodes to those of the pod.
func preferNodes(s *corev1.PodSpec, nodes []gang.NodeID) {
	distinct := slices.Compact(slices.Sorted(slices.Values(nodes)))
	if len(distinct) == 0 {
		return
	}
	if s.Affinity == nil {
		s.Affinity = &corev1.Affinity{}
	}
	if s.Affinity.NodeAffinity == nil {
		s.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	to := &s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	for _, node := range distinct {
		*to = append(*to, preferenceOf(node))
	}
}

// nodePreferences returns the pod's preferred node affinities. The patch replaces the whole list.
func nodePreferences(pod *corev1.Pod) []corev1.PreferredSchedulingTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return append([]corev1.PreferredSchedulingTerm(nil),
		pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution...)
}
