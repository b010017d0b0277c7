// Package podspec converts a task to Kubernetes objects: a Job whose pods provide the same
// environment as an agent's container, and the Secrets that they read. It makes no calls.
//
// The pods of a gang share one template. Each one gets its rank from the index of the Job; values
// that depend on the rank are expressions.
package podspec

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
)

// SlotType is the type of a slot.
type SlotType string

// Values of SlotType.
const (
	CUDA SlotType = "cuda"
	ROCm SlotType = "rocm"
	CPU  SlotType = "cpu"
)

// Resource returns the Kubernetes resource of a slot.
func (t SlotType) Resource() corev1.ResourceName {
	switch t {
	case CUDA:
		return "nvidia.com/gpu"
	case ROCm:
		return "amd.com/gpu"
	case CPU:
	}
	return corev1.ResourceCPU
}

// GPU reports whether slots are GPUs.
func (t SlotType) GPU() bool { return t == CUDA || t == ROCm }

// Template contains the settings that all tasks of a resource pool share.
type Template struct {
	// Cluster is the name of the installation, used in labels. ClusterID and MasterID are the IDs
	// that the master reports.
	Cluster, ClusterID, MasterID string
	Namespace                    string
	// Image is the image of the master, whose det-deploy program is used in the init container.
	Image string
	// PullSecrets are names of registry Secrets.
	PullSecrets []string
	// Logins are registry credentials to copy to every task's own Secret, replacing PullSecrets.
	Logins Logins
	// Account is the default ServiceAccount of pods; empty for the namespace's default.
	Account string
	// Protected are names of Secrets, volume claims and priority classes of the cluster that no
	// task may use, in addition to those of its chart.
	Protected []string
	// CheckpointClaim is the volume claim with checkpoints; a pod only mounts the directory of its
	// experiment. Empty for none.
	CheckpointClaim string
	Master          Master

	SlotType SlotType
	// SlotResource is the extended resource of a slot if it is not that of SlotType, such as a part of a GPU.
	SlotResource   string
	MaxSlotsPerPod int
	// SlotCPU is the number of CPUs of a slot of type cpu.
	SlotCPU float64
	// Scheduler is the name of the scheduler, or empty for the cluster's default. Pods for
	// Coscheduler are labeled as a group.
	Scheduler string
	// CPUPodSpec and GPUPodSpec are Pods as JSON, merged into tasks without and with GPU slots;
	// empty for none.
	CPUPodSpec, GPUPodSpec []byte
	// CheckpointGCPodSpec is the Pod as JSON for tasks that delete checkpoints; empty for none.
	CheckpointGCPodSpec []byte
	// MaxGrace is the maximum termination grace period in a task's pod spec; 0 means ten minutes.
	MaxGrace time.Duration
	// HostNetwork is true if the resource pool's pods use the network of their nodes.
	HostNetwork bool
}

// ResourceOfSlot returns the Kubernetes resource of a slot.
func (t Template) ResourceOfSlot() corev1.ResourceName {
	return cmp.Or(corev1.ResourceName(t.SlotResource), t.SlotType.Resource())
}

// Coscheduler is the scheduler plugin that starts groups of pods together.
const Coscheduler = "coscheduler"

// Master is the master's address as seen by pods, and its certificate.
type Master struct {
	// Scheme is http or https.
	Scheme string
	Host   string
	Port   int
	// CA is the CA of the master's certificate, as PEM. Without it, the pod's system CAs are used.
	CA []byte
	// CertName is the name in the certificate if it differs from Host.
	CertName string
	NoVerify bool
}

// Request is one attempt to run an allocation.
type Request struct {
	rm.Request
	Template Template
	// Attempt counts attempts from 1. Each has a Job with its own name, so that a new attempt need
	// not wait for the deletion of the previous one.
	Attempt int
	// Ungated creates the pods without gates, with a preference for Nodes.
	Ungated bool
	Nodes   []gang.NodeID
	// Specs are the task's specs of the containers, by rank.
	Specs []*agentv1.Spec
}

// Objects are the objects of one attempt. The Job is created first and owns the others.
type Objects struct {
	Job *batchv1.Job
	// Secrets contain the environment, the files and the registry credentials.
	Secrets []*corev1.Secret
}

// Refusal is an error for the task's owner: a setting of the task, or of its resource pool, that no
// pod can have.
type Refusal struct {
	// Field is the setting: "environment.pod_spec".
	Field string
	// At is the path within a pod spec, "spec.restartPolicy", or empty if unknown.
	At string
	// Why is the violated rule and the actual value, including At.
	Why string
}

// Error returns one sentence.
func (r *Refusal) Error() string { return r.Field + ": " + r.Why }

func refuseField(field, format string, args ...any) error {
	return &Refusal{Field: field, Why: fmt.Sprintf(format, args...)}
}

// Validate returns an error if a request can never run: slots that cannot be divided among pods, an
// invalid pod spec, or one that the task's policy does not permit. For a task's own pod spec the
// error is a *Refusal.
func Validate(r rm.Request, t Template) error {
	if _, err := Draft(r, t); err != nil {
		return err
	}
	return errors.Join(checkPolicy(policy.FromAPI(r.Policy), r, t), checkGrace(r, t))
}

// Pods returns the number of pods of a request, and the slots of each.
func Pods(r rm.Request, t Template) (pods, perPod int, err error) {
	pods, perPod, err = gang.Split(r.Slots, t.MaxSlotsPerPod, r.SingleNode)
	if err != nil {
		err = refuseField("resources.slots", "%s", err)
	}
	return pods, perPod, err
}

// Draft returns a pod spec of r with its requests and placement constraints only. It does not need
// the task's specs.
func Draft(r rm.Request, t Template) (*corev1.PodSpec, error) {
	pods, perPod, err := Pods(r, t)
	if err != nil {
		return nil, err
	}
	p, err := userPod(r, t)
	if err != nil {
		return nil, err
	}
	if err := refuseSubdomain(p, pods); err != nil {
		return nil, err
	}
	if err := checkPolicy(policy.Policy{Free: true}, r, t); err != nil {
		return nil, err
	}
	main := mainContainer(p)
	if err := giveSlots(&p.Spec, main, t, perPod); err != nil {
		return nil, err
	}
	excludeNodes(&p.Spec, r.ExcludedAgents)
	return &p.Spec, nil
}

// Build returns the objects of one attempt.
func Build(r Request) (Objects, error) {
	pods, perPod, err := Pods(r.Request, r.Template)
	if err != nil {
		return Objects{}, err
	}
	spec, err := commonSpec(r.Allocation, r.Specs)
	if err != nil {
		return Objects{}, err
	}
	if len(r.Specs) != pods {
		return Objects{}, fmt.Errorf("build the pods of %s: %d pods need as many container specs, got %d", r.Allocation, pods, len(r.Specs))
	}
	// Check the submitted request again, because the master's version and the cluster's
	// configuration may have changed since.
	rules := policy.FromAPI(spec.GetPolicy())
	if err := errors.Join(judgeSpec(rules, spec), checkPolicy(rules, r.Request, r.Template)); err != nil {
		return Objects{}, err
	}
	p, err := userPod(r.Request, r.Template)
	if err != nil {
		return Objects{}, err
	}
	limitMemory(&p.Spec, rules.MaxMemory)
	limitGrace(&p.Spec, r.Template.GraceLimit(r.Request))
	b := &builder{request: r, spec: spec, pods: pods, slots: perPod, pod: p, main: mainContainer(p)}
	if err := b.buildObjects(); err != nil {
		return Objects{}, err
	}
	secrets, err := b.buildSecrets()
	if err != nil {
		return Objects{}, err
	}
	return Objects{Job: b.buildJob(), Secrets: secrets}, nil
}

// builder builds a pod template step by step.
type builder struct {
	request Request
	spec    *agentv1.Spec
	pods    int
	slots   int

	pod *corev1.Pod
	// main is the task's container in pod.
	main *corev1.Container
	// files and data are the content of the task's Secret.
	files *archive
	data  map[string][]byte
}

func (b *builder) buildObjects() error {
	b.data = map[string][]byte{}
	b.files = newArchive(b.spec)
	b.setAnnotations()
	steps := []func() error{
		b.setPlacement, b.setSubdomain, b.setProgram, b.setEnvironment, b.setSecurity, b.setNetwork, b.setDevices, b.addMounts, b.filesAndMaster,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	b.setImages()
	confinePod(&b.pod.Spec)
	if n := sizeOf(b.data); n > maxSecret {
		return refuseField("files", "the environment and the files of the task's container have %d bytes, and a Secret holds at most %d; "+
			"files of the context directory do not count", n, maxSecret)
	}
	return nil
}

// maxSecret leaves room for keys and labels within the limit of 1 MiB per Secret.
const maxSecret = 1_000_000

func sizeOf(data map[string][]byte) int {
	n := 0
	for k, v := range data {
		n += len(k) + len(v)
	}
	return n
}

// setPlacement sets the pod's requests and placement constraints.
func (b *builder) setPlacement() error {
	if err := giveSlots(&b.pod.Spec, b.main, b.request.Template, b.slots); err != nil {
		return err
	}
	excludeNodes(&b.pod.Spec, b.request.ExcludedAgents)
	if !b.request.Ungated {
		b.pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: Gate}}
		return nil
	}
	preferNodes(&b.pod.Spec, b.request.Nodes)
	if b.pods == 1 {
		b.pod.Labels = withAll(b.pod.Labels, map[string]string{LabelContainerID: string(ContainerID(b.request.Allocation, 0))})
	}
	return nil
}

// setProgram sets the command of the task's container.
func (b *builder) setProgram() error {
	command := b.spec.GetEntrypoint()
	if hook := b.spec.GetStartupHook(); hook != "" {
		if len(command) == 0 {
			return errors.New("a startup hook needs an entrypoint to run before")
		}
		command = append([]string{"/bin/sh", "-c", runHook, "startup-hook", hookPath}, command...)
	}
	for _, word := range command {
		b.main.Command = append(b.main.Command, escapeVariables(word))
	}
	b.main.WorkingDir = b.spec.GetWorkDir()
	return nil
}
