// Package podspec turns a task into what Kubernetes runs: one Job whose pods find
// around them what an agent's container finds, and the Secrets that they read.
// It is pure.
//
// The pods of a gang are made from one template. Each knows its rank by the index
// that the Job gives it; what differs by rank is an expression over it.
package podspec

import (
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

// SlotType is what a slot is.
type SlotType string

// The kinds of slots.
const (
	CUDA SlotType = "cuda"
	ROCm SlotType = "rocm"
	CPU  SlotType = "cpu"
)

// Resource is what the kubelet calls a slot of this kind.
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

// Template is what all tasks of a pool have in common.
type Template struct {
	// Cluster is the name of the installation, which labels carry. ClusterID and
	// MasterID are what the master answers for itself.
	Cluster, ClusterID, MasterID string
	Namespace                    string
	// Image is the master's own, whose program is det-deploy: it puts the files
	// into place.
	Image string
	// PullSecrets are names of Secrets for registries.
	PullSecrets []string
	// Logins are the sign-ins to registries that every task's own Secret holds, which
	// then takes the place of PullSecrets.
	Logins Logins
	// Account is the ServiceAccount of pods whose spec names none; empty is the
	// namespace's default one.
	Account string
	// Protected are names of Secrets, volume claims and priority classes of the cluster,
	// beside those that its chart names, which no task may use.
	Protected []string
	// CheckpointClaim is the volume claim of checkpoints, of which a pod gets what is its experiment's;
	// empty for none.
	CheckpointClaim string
	Master          Master

	SlotType       SlotType
	MaxSlotsPerPod int
	// SlotCPU is how many CPUs a slot of type cpu is.
	SlotCPU float64
	// Scheduler is the name of the scheduler, empty for the cluster's own.
	// Pods for Coscheduler are marked as a group.
	Scheduler string
	// CPUPodSpec and GPUPodSpec are Pods as JSON that tasks without and with
	// slots of GPUs are laid over; empty for none.
	CPUPodSpec, GPUPodSpec []byte
	// CheckpointGCPodSpec is the Pod as JSON that tasks which delete checkpoints bring as
	// theirs; empty for none.
	CheckpointGCPodSpec []byte
	// MaxGrace is how long a task's pod spec may let its program take to end; 0 is ten minutes.
	MaxGrace time.Duration
	// HostNetwork says that the pool's pods are on the network of their nodes.
	HostNetwork bool
}

// Coscheduler is the scheduler plugin that starts groups of pods together.
const Coscheduler = "coscheduler"

// Master is where pods reach the master, and how they know it.
type Master struct {
	// Scheme is http or https.
	Scheme string
	Host   string
	Port   int
	// CA is what signs the master's certificate, as PEM. Without it the pod's
	// own authorities are asked.
	CA []byte
	// CertName is the name in the certificate when it is not Host.
	CertName string
	NoVerify bool
}

// Request is one try to run an allocation.
type Request struct {
	rm.Request
	Template Template
	// Attempt counts tries from 1. Each has a Job of its own name, so that a new
	// one need not wait until the last is deleted.
	Attempt int
	// Ungated has its pods placed as they are made, on one of Nodes rather than elsewhere.
	Ungated bool
	Nodes   []gang.NodeID
	// Specs is what the task wants run, for each container by rank.
	Specs []*agentv1.Spec
}

// Objects is what is made for one try. The Job comes first and owns the others.
type Objects struct {
	Job *batchv1.Job
	// Secrets hold the environment, the files and the sign-in to a registry.
	Secrets []*corev1.Secret
}

// Refusal is what a task, or its pool, asks for and no pod can have. It is for
// the task's owner.
type Refusal struct {
	// Field is the setting: "environment.pod_spec".
	Field string
	// At is the path within a pod spec, "spec.restartPolicy"; empty where it is not known.
	At string
	// Why is the rule with what was found, and with At.
	Why string
}

// Error is one sentence.
func (r *Refusal) Error() string { return r.Field + ": " + r.Why }

func refuseField(field, format string, args ...any) error {
	return &Refusal{Field: field, Why: fmt.Sprintf(format, args...)}
}

// Validate says what of a request can never be run: slots that cannot be divided
// over pods, a pod spec that is not ours to follow, or one that asks for what the
// task's policy does not allow. Of a task's own pod spec the error is a *Refusal.
func Validate(r rm.Request, t Template) error {
	if _, err := Draft(r, t); err != nil {
		return err
	}
	return errors.Join(checkPolicy(policy.FromAPI(r.Policy), r, t), checkGrace(r, t))
}

// Pods is how many pods a request has, and how many slots each.
func Pods(r rm.Request, t Template) (pods, perPod int, err error) {
	pods, perPod, err = gang.Split(r.Slots, t.MaxSlotsPerPod, r.SingleNode)
	if err != nil {
		err = refuseField("resources.slots", "%s", err)
	}
	return pods, perPod, err
}

// Draft is a pod of r as far as its place matters: what it asks for, and which
// nodes it may be on. It is known before the task says what to run.
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

// Build makes the objects of one try.
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
		return Objects{}, fmt.Errorf("build the pods of %s: there are %d pods and what to run for %d", r.Allocation, pods, len(r.Specs))
	}
	// What was submitted is judged again: the master may be another since, and so the
	// cluster's configuration.
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

// builder makes one pod template, step by step.
type builder struct {
	request Request
	spec    *agentv1.Spec
	pods    int
	slots   int

	pod *corev1.Pod
	// main is the task's container in pod.
	main *corev1.Container
	// files and data are what the task's Secret holds.
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
		return refuseField("files", "the environment and the files of the task's container take %d bytes, and a Secret holds %d; "+
			"files of the context directory have no part in this", n, maxSecret)
	}
	return nil
}

// maxSecret leaves room for keys and labels below the 1 MiB of a Secret.
const maxSecret = 1_000_000

func sizeOf(data map[string][]byte) int {
	n := 0
	for k, v := range data {
		n += len(k) + len(v)
	}
	return n
}

// setPlacement says what the pod asks for and where it may be.
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

// setProgram says what is run.
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
