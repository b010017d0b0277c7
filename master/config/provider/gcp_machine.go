package provider

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
)

// GCPMachine is a machine type with GPUs.
type GCPMachine struct {
	MachineType string  `yaml:"machine_type" doc:"Machine type"`
	GPUType     *string `yaml:"gpu_type" doc:"GPU type, empty for none; by default the built-in GPUs of the machine type, and nvidia-tesla-t4 for N1 machines"`
	GPUNum      *int    `yaml:"gpu_num" doc:"GPUs per machine; by default the built-in GPUs of the machine type, and 4 for N1 machines with a GPU type"`
}

// The default GPUs of an N1 machine.
const (
	defaultGPU  = "nvidia-tesla-t4"
	defaultGPUs = 4
)

// Type returns the machine type with its GPUs, set or by default.
func (m GCPMachine) Type() machinetype.Type {
	t := machinetype.Type{MachineType: m.MachineType}
	switch {
	case m.GPUType != nil:
		t.GPUType = *m.GPUType
	case t.BringsGPUs():
		t.GPUType, _ = t.BroughtType() // an unknown GPU type has no name
	case t.TakesGPUs():
		t.GPUType = defaultGPU
	}
	switch count, _ := t.BroughtGPUs(); {
	case m.GPUNum != nil:
		t.GPUs = int64(*m.GPUNum)
	case t.BringsGPUs():
		t.GPUs = count
	case t.GPUType != "" && t.TakesGPUs():
		t.GPUs = defaultGPUs
	}
	return t
}

// Machines returns the machine types in order of preference.
func (p GCP) Machines() []GCPMachine {
	if len(p.InstanceTypes) > 0 {
		return p.InstanceTypes
	}
	return []GCPMachine{p.InstanceType.GCPMachine}
}

// GPUs returns the number of GPUs of a machine: its own, or those of base_config if the settings
// specify none.
func (p GCP) GPUs(m GCPMachine) int {
	if t := m.Type(); t.GPUs > 0 || t.BringsGPUs() {
		return int(t.GPUs)
	}
	base, err := properties.Parse(p.BaseConfig.JSON())
	if err != nil { // validation has rejected it
		return 0
	}
	var count int64
	for _, a := range base.GuestAccelerators {
		count += a.AcceleratorCount
	}
	return int(count)
}

// Slots returns the number of slots of a machine.
func (p GCP) Slots(m GCPMachine) int {
	if gpus := p.GPUs(m); gpus > 0 || !p.CPUSlotsAllowed {
		return gpus
	}
	return 1
}

func (p GCP) validateMachines(path string) document.Errors {
	var e document.Errors
	first := p.Slots(p.Machines()[0])
	for i, m := range p.Machines() {
		at := document.Join(path, "instance_type")
		if len(p.InstanceTypes) > 0 {
			at = document.Index(document.Join(path, "instance_types"), i)
		}
		e = append(e, m.Validate(at)...)
		slots := p.Slots(m)
		e.Check(slots == first, at, "must have as many slots as the first (%d, not %d)", first, slots)
	}
	return e
}

// Validate checks the settings that do not depend on Google, which decides the types offered in a
// zone and the GPU counts that they support.
func (m GCPMachine) Validate(path string) document.Errors {
	var e document.Errors
	if _, err := machinetype.Parse(m.MachineType); err != nil || strings.Contains(m.MachineType, "+") {
		e.Add(document.Join(path, "machine_type"), "must be a machine type such as n1-standard-8 (is %q)", m.MachineType)
		return e
	}
	t, at := m.Type(), document.Join(path, "gpu_num")
	if t.BringsGPUs() {
		count, known := t.BroughtGPUs()
		e.Check(known || t.GPUs > 0, at, "is required: the number of GPUs of machine type %s is unknown", m.MachineType)
		gpu, listed := t.BroughtType()
		e.Check(!listed || t.GPUType == gpu, document.Join(path, "gpu_type"), "must be %s, the built-in GPU of machine type %s (is %q)", gpu, m.MachineType, t.GPUType)
		e.Check(!known || t.GPUs == count, at, "must be %d, the number of built-in GPUs of machine type %s (is %d)", count, m.MachineType, t.GPUs)
		return e
	}
	counts := gpuCounts(t.GPUType)
	switch {
	case counts == nil:
		e.Check(t.GPUs >= 0 && t.GPUs <= 16, at, "must be between 0 and 16 (is %d)", t.GPUs)
	case !slices.Contains(counts, t.GPUs):
		e.Add(at, "must be one of %v with gpu_type %q (is %d)", counts, t.GPUType, t.GPUs)
	}
	if err := t.Check(); err != nil {
		e.Add(at, "%v", err)
	}
	return e
}

// gpuCounts returns the numbers of GPUs of a type that Google attaches to one machine, or nil for
// an unknown type.
func gpuCounts(gpu string) []int64 {
	switch gpu {
	case "":
		return []int64{0}
	case "nvidia-tesla-t4", "nvidia-tesla-p100", "nvidia-tesla-p4":
		return []int64{0, 1, 2, 4}
	case "nvidia-tesla-v100", "nvidia-tesla-k80", "nvidia-a100-80gb", "nvidia-l4":
		return []int64{0, 1, 2, 4, 8}
	case "nvidia-tesla-a100":
		return []int64{0, 1, 2, 4, 8, 16}
	}
	return nil
}
