package provider

import (
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/document"
)

// GCP launches Compute Engine instances.
type GCP struct {
	Elastic                `yaml:",inline"`
	BaseConfig             document.Raw      `yaml:"base_config" doc:"Instance properties in Google's own form; the settings below win or are added"`
	Project                string            `yaml:"project" doc:"Google project; the master's own when empty"`
	Zone                   string            `yaml:"zone" doc:"Zone; the master's own when empty"`
	BootDiskSize           int               `yaml:"boot_disk_size" doc:"GB of the boot disk, at least 100"`
	BootDiskSourceImage    string            `yaml:"boot_disk_source_image" doc:"Image of agents"`
	BootDiskType           string            `yaml:"boot_disk_type" doc:"Type of the boot disk"`
	Labels                 map[string]string `yaml:"labels" doc:"Further labels of agents"`
	LabelKey               string            `yaml:"label_key" doc:"Label that marks this cluster's agents"`
	LabelValue             string            `yaml:"label_value" doc:"Value of the label, unique to this cluster; the master's instance when empty"`
	NamePrefix             string            `yaml:"name_prefix" doc:"Beginning of agents' names"`
	NetworkInterface       GCPNetwork        `yaml:"network_interface" doc:"Where agents are connected"`
	NetworkTags            []string          `yaml:"network_tags" doc:"Network tags of agents"`
	ServiceAccount         GCPServiceAccount `yaml:"service_account" doc:"Service account of agents"`
	InstanceType           GCPInstanceType   `yaml:"instance_type" doc:"Machine and GPUs of agents"`
	OperationTimeoutPeriod document.Duration `yaml:"operation_timeout_period" doc:"How long Google may take for one operation"`
	CPUSlotsAllowed        bool              `yaml:"cpu_slots_allowed" doc:"Give a machine without GPUs one slot"`
	UseCloudLogging        bool              `yaml:"use_cloud_logging" doc:"Send agents' logs to Cloud Logging"`
}

// GCPNetwork is where instances are connected.
type GCPNetwork struct {
	Network    string `yaml:"network" doc:"Network"`
	Subnetwork string `yaml:"subnetwork" doc:"Subnetwork; needed with network"`
	ExternalIP bool   `yaml:"external_ip" doc:"Give machines an external address"`
}

// GCPServiceAccount is the identity of instances.
type GCPServiceAccount struct {
	Email  string   `yaml:"email" doc:"Service account; none when empty"`
	Scopes []string `yaml:"scopes" doc:"Scopes of the account"`
}

// GCPInstanceType is the machine of instances.
type GCPInstanceType struct {
	MachineType string `yaml:"machine_type" doc:"Machine type"`
	GPUType     string `yaml:"gpu_type" doc:"GPU type, empty for none"`
	GPUNum      int    `yaml:"gpu_num" doc:"GPUs of one machine"`
	Preemptible bool   `yaml:"preemptible" doc:"Use preemptible machines"`
}

// SetDefaults makes p the default.
func (p *GCP) SetDefaults() {
	*p = GCP{
		Elastic: DefaultElastic(), BootDiskSize: 200,
		BootDiskSourceImage: "projects/determined-ai/global/images/det-environments-0736b6d",
		BootDiskType:        "pd-standard", LabelKey: "managed-by",
		ServiceAccount:         GCPServiceAccount{Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}},
		InstanceType:           GCPInstanceType{MachineType: "n1-standard-32", GPUType: "nvidia-tesla-t4", GPUNum: 4},
		OperationTimeoutPeriod: document.Duration(5 * time.Minute),
	}
}

// Slots is how many slots one machine has.
func (p GCP) Slots() int {
	if p.InstanceType.GPUNum == 0 && p.CPUSlotsAllowed {
		return 1
	}
	return p.InstanceType.GPUNum
}

// gpuCounts is how many GPUs of a type Google attaches to one machine. nil is a
// type that is not listed.
func gpuCounts(gpu string) []int {
	switch gpu {
	case "":
		return []int{0}
	case "nvidia-tesla-t4", "nvidia-tesla-p100", "nvidia-tesla-p4":
		return []int{0, 1, 2, 4}
	case "nvidia-tesla-v100", "nvidia-tesla-k80", "nvidia-a100-80gb", "nvidia-l4":
		return []int{0, 1, 2, 4, 8}
	case "nvidia-tesla-a100":
		return []int{0, 1, 2, 4, 8, 16}
	}
	return nil
}

// Validate checks what can be checked without Google.
func (p GCP) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(p.BootDiskSize >= 100, at("boot_disk_size"), "must be at least 100 (is %d)", p.BootDiskSize)
	e.Check(p.BootDiskSourceImage != "", at("boot_disk_source_image"), "is required")
	n := p.NetworkInterface
	e.Check((n.Network == "") == (n.Subnetwork == ""), at("network_interface"), "needs both network and subnetwork, or neither")
	e.Check(p.OperationTimeoutPeriod > 0, at("operation_timeout_period"), "must be more than 0 (is %v)", p.OperationTimeoutPeriod)
	e.Check(len(p.LabelValue) <= 63, at("label_value"), "must have at most 63 characters (has %d)", len(p.LabelValue))
	t := p.InstanceType
	e.Check(strings.Contains(t.MachineType, "-"), at("instance_type.machine_type"), "must be a machine type such as n1-standard-8 (is %q)", t.MachineType)
	counts := gpuCounts(t.GPUType)
	switch {
	case counts == nil:
		e.Check(t.GPUNum >= 0 && t.GPUNum <= 16, at("instance_type.gpu_num"), "must be between 0 and 16 (is %d)", t.GPUNum)
	case !slices.Contains(counts, t.GPUNum):
		e.Add(at("instance_type.gpu_num"), "must be one of %v with gpu_type %q (is %d)", counts, t.GPUType, t.GPUNum)
	}
	e = append(e, p.BaseConfig.CheckMapping(at("base_config"))...)
	return e
}
