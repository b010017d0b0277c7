// Package container defines task_container_defaults of master.yaml: the defaults of task
// containers.
package container

import (
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Defaults are the defaults of task containers. A zero value in a pool's settings inherits the
// global one.
type Defaults struct {
	ShmSize           document.Bytes   `yaml:"shm_size_bytes" doc:"Shared memory: bytes, or a text such as 4g"`
	NetworkMode       string           `yaml:"network_mode" doc:"Docker network of tasks"`
	PreemptionTimeout document.Seconds `yaml:"preemption_timeout" doc:"Time for a task to stop by itself"`
	DtrainInterface   string           `yaml:"dtrain_network_interface" doc:"Network interface for training on several machines"`
	NCCLPortRange     string           `yaml:"nccl_port_range" doc:"Ports for NCCL, min:max"`
	GLOOPortRange     string           `yaml:"gloo_port_range" doc:"Ports for GLOO, min:max"`
	CPUPodSpec        document.Raw     `yaml:"cpu_pod_spec" doc:"Pod spec of tasks without GPUs"`
	GPUPodSpec        document.Raw     `yaml:"gpu_pod_spec" doc:"Pod spec of tasks with GPUs"`
	CheckpointGCSpec  document.Raw     `yaml:"checkpoint_gc_pod_spec" doc:"Pod spec of checkpoint deletion"`
	Image             Images           `yaml:"image" doc:"Image, or one each for cpu, cuda, rocm"`
	RegistryAuth      *RegistryAuth    `yaml:"registry_auth" doc:"Credentials for the image registry"`
	ForcePullImage    *bool            `yaml:"force_pull_image" doc:"Pull images even if they exist locally"`
	Environment       Environment      `yaml:"environment_variables" doc:"Variables, or lists for cpu, cuda, rocm"`
	AddCapabilities   []string         `yaml:"add_capabilities" doc:"Linux capabilities added to tasks"`
	DropCapabilities  []string         `yaml:"drop_capabilities" doc:"Linux capabilities dropped from tasks"`
	Devices           []Device         `yaml:"devices" doc:"Devices of the machine for tasks"`
	BindMounts        []BindMount      `yaml:"bind_mounts" doc:"Directories of the machine for tasks"`
	WorkDir           string           `yaml:"work_dir" doc:"Directory in which tasks start"`
	StartupHook       string           `yaml:"startup_hook" doc:"Shell script that runs before each task"`
	HarnessWheel      Wheel            `yaml:"harness_wheel" doc:"Wheel of the determined library, installed at the start of trials whose image lacks it"`
	LogPolicies       []LogPolicy      `yaml:"log_policies" doc:"Actions for matching log lines"`
	Slurm             document.Raw     `yaml:"slurm" doc:"Settings for Slurm"`
	PBS               document.Raw     `yaml:"pbs" doc:"Settings for PBS"`
	Kubernetes        *KubernetesTask  `yaml:"kubernetes" doc:"Settings for Kubernetes"`
}

// KubernetesTask are the settings of pods of tasks.
type KubernetesTask struct {
	MaxSlotsPerPod *int `yaml:"max_slots_per_pod" doc:"Slots of one pod"`
}

// RegistryAuth are the credentials for an image registry.
type RegistryAuth struct {
	Username      string       `yaml:"username" doc:"User"`
	Password      secret.Value `yaml:"password" doc:"Password"`
	ServerAddress string       `yaml:"serveraddress" doc:"Registry"`
	Email         string       `yaml:"email" doc:"Mail address"`
}

// Default returns the defaults of Determined 0.38.1.
func Default() Defaults {
	return Defaults{
		ShmSize: 4 << 30, NetworkMode: "bridge",
		PreemptionTimeout: document.Seconds(time.Hour),
	}
}

// Validate checks all settings below path.
func (t Defaults) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(t.ShmSize >= 0, at("shm_size_bytes"), "must be more than 0 (is %d)", t.ShmSize)
	e.Check(t.PreemptionTimeout >= 0, at("preemption_timeout"), "must be at least 0 (is %v)", t.PreemptionTimeout)
	e = append(e, portRange(at("nccl_port_range"), t.NCCLPortRange)...)
	e = append(e, portRange(at("gloo_port_range"), t.GLOOPortRange)...)
	e = append(e, t.HarnessWheel.Validate(at("harness_wheel"))...)
	for i, d := range t.Devices {
		e = append(e, d.Validate(document.Index(at("devices"), i))...)
	}
	for i, b := range t.BindMounts {
		e = append(e, b.Validate(document.Index(at("bind_mounts"), i))...)
	}
	for i, p := range t.LogPolicies {
		e = append(e, p.Validate(document.Index(at("log_policies"), i))...)
	}
	if k := t.Kubernetes; k != nil && k.MaxSlotsPerPod != nil {
		e.Check(*k.MaxSlotsPerPod >= 0, at("kubernetes.max_slots_per_pod"), "must be at least 0 (is %d)", *k.MaxSlotsPerPod)
	}
	for key, raw := range map[string]document.Raw{
		"cpu_pod_spec": t.CPUPodSpec, "gpu_pod_spec": t.GPUPodSpec, "checkpoint_gc_pod_spec": t.CheckpointGCSpec,
	} {
		e = append(e, raw.CheckMapping(at(key))...)
	}
	return e
}
