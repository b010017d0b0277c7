package spec

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// GCPPool is a pool of Compute Engine instances.
type GCPPool struct {
	Pool `yaml:",inline"`

	Machines   []GCPMachine `yaml:"machines" doc:"Machine types with their GPUs in order of preference, all with the same slots" after:"description"`
	Zones      []string     `yaml:"zones" doc:"Zones of the region in order of preference; by default all that offer the machines"`
	Image      string       `yaml:"image" doc:"Image of this pool's machines; by default agents.image" after:"launch_error_retries"`
	BootDisk   GCPBootDisk  `yaml:"boot_disk" doc:"Boot disk; empty settings are those of agents.boot_disk"`
	BaseConfig document.Raw `yaml:"base_config" doc:"Instance properties in Google's own format, such as additional disks; the settings of the pool take precedence"`
}

// GCPMachine is a machine type with its attached GPUs.
type GCPMachine struct {
	MachineType string `yaml:"machine_type" doc:"Machine type, such as n1-standard-8"`
	GPUType     string `yaml:"gpu_type" doc:"Type of the GPUs attached to an N1 machine, such as nvidia-tesla-t4; A2, A3 and G2 types have built-in GPUs"`
	GPUNum      int    `yaml:"gpu_num" doc:"Number of GPUs to attach"`
}

// GCPBootDisk configures a boot disk.
type GCPBootDisk struct {
	Size int    `yaml:"size" doc:"GB, at least 100"`
	Type string `yaml:"type" doc:"Type of the disk"`
}

// GCPAgents are the settings common to the machines of all pools.
type GCPAgents struct {
	Image    string      `yaml:"image" doc:"Image; by default the newest of Google with NVIDIA drivers and Docker"`
	BootDisk GCPBootDisk `yaml:"boot_disk" doc:"Boot disk"`
	Agents   `yaml:",inline"`
}

// UnmarshalDocument reads an object, or the flag syntax n1-standard-8+4xnvidia-tesla-t4.
func (m *GCPMachine) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		type plain GCPMachine
		var p plain
		if v.Decode(&p) {
			*m = GCPMachine(p)
		}
		return
	}
	t, err := machinetype.Parse(v.Text())
	if err != nil {
		v.Complain(err.Error(), "")
		return
	}
	*m = GCPMachine{MachineType: t.MachineType, GPUType: t.GPUType, GPUNum: int(t.GPUs)}
}

// DocumentShape implements document.Shaper.
func (GCPMachine) DocumentShape() string { return "text or object" }

// Type converts m to a machinetype.Type.
func (m GCPMachine) Type() machinetype.Type {
	return machinetype.Type{MachineType: m.MachineType, GPUType: m.GPUType, GPUs: int64(m.GPUNum)}
}

// DefaultGCPPool returns the default settings of a pool.
func DefaultGCPPool() GCPPool {
	return GCPPool{Pool: defaultPool(), Machines: []GCPMachine{{MachineType: "g2-standard-4"}}}
}

// defaultGCPAuxPool returns the default pool of tasks without slots.
func defaultGCPAuxPool() GCPPool {
	p := DefaultGCPPool()
	p.Machines = []GCPMachine{{MachineType: "n2-standard-2"}}
	p.MaxAuxTasks = 16 // each with 0.5 GB, in the 8 GB of an n2-standard-2
	return p
}

// DescribePools returns a line for each pool.
func (g *GCP) DescribePools() []string {
	return describePools(g.AllPools(), func(p GCPPool) string {
		var types []string
		for _, m := range p.Machines {
			types = append(types, m.Type().String())
		}
		return p.Describe(types)
	})
}

// SetDefaults sets p to the defaults.
func (p *GCPPool) SetDefaults() { *p = DefaultGCPPool() }

// Validate checks the pool by itself.
func (p GCPPool) Validate(path string) document.Errors {
	e := p.validate(path)
	at := func(key string) string { return document.Join(path, key) }
	e.Check(len(p.Machines) > 0, at("machines"), "must name at least one")
	for i, m := range p.Machines {
		here := document.Index(at("machines"), i)
		e = append(e, m.Validate(here)...)
		e.Check(!slices.Contains(p.Machines[:i], m), here, "is given twice (%s)", m.Type())
	}
	for i, z := range p.Zones {
		e.Check(!slices.Contains(p.Zones[:i], z), document.Index(at("zones"), i), "is given twice (%q)", z)
	}
	checkImage(&e, at("image"), p.Image)
	e = append(e, p.BootDisk.validate(at("boot_disk"), true)...)
	return append(e, provider.CheckBaseConfig(at("base_config"), p.BaseConfig, properties.Pool{Zones: p.Zones, Spot: p.Spot})...)
}

// Validate checks that the machine type supports the GPUs.
func (m GCPMachine) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkMachineType(&e, at("machine_type"), m.MachineType)
	checkName(&e, at("gpu_type"), m.GPUType)
	e.Check(m.GPUNum >= 0 && m.GPUNum <= 16, at("gpu_num"), "must be between 0 and 16 (is %d)", m.GPUNum)
	e.Check(m.GPUNum == 0 || m.GPUType != "" || m.Type().BringsGPUs(), at("gpu_type"), "is required with gpu_num")
	e.Check(m.GPUNum > 0 || m.GPUType == "" || m.Type().BringsGPUs(), at("gpu_num"), "must be more than 0 with gpu_type")
	if err := m.Type().Check(); err != nil {
		e.Add(at("gpu_num"), "must be 0: %v", err)
	}
	return e
}

// Validate checks the image and the disk.
func (a GCPAgents) Validate(path string) document.Errors {
	e := a.validate(path)
	checkImage(&e, document.Join(path, "image"), a.Image)
	return append(e, a.BootDisk.validate(document.Join(path, "boot_disk"), false)...)
}

// validate checks the size and the type. A pool may omit either.
func (d GCPBootDisk) validate(path string, optional bool) document.Errors {
	var e document.Errors
	if !optional || d.Size != 0 {
		e.Check(d.Size >= 100, document.Join(path, "size"), "must be at least 100 (is %d)", d.Size)
	}
	if !optional || d.Type != "" {
		checkDiskType(&e, document.Join(path, "type"), d.Type)
	}
	return e
}
