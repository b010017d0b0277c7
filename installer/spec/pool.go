package spec

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// AWSPool is machines that the master launches when tasks wait and removes when
// they are idle.
type AWSPool struct {
	Description   string   `yaml:"description" doc:"Shown to users"`
	InstanceTypes []string `yaml:"instance_types" doc:"Instance types in order of preference, all with the same slots"`
	Zones         []string `yaml:"zones" doc:"Zones of an own VPC in order of preference; all of the network's when empty"`
	Subnets       []string `yaml:"subnets" doc:"Subnets of an existing VPC in order of preference; all of the network's when empty"`
	MinAgents     int      `yaml:"min_agents" doc:"Machines that are always kept"`
	MaxAgents     int      `yaml:"max_agents" doc:"Most machines at a time"`

	Spot               bool   `yaml:"spot" doc:"Use spot instances, which are cheaper and may be interrupted"`
	MaxPrice           string `yaml:"max_price" doc:"Most dollars an hour for a spot instance; the on-demand price when empty"`
	FallbackToOnDemand bool   `yaml:"fallback_to_on_demand" doc:"Use on-demand instances when there are no spot instances"`

	IdlePeriod     document.Duration `yaml:"idle_period" doc:"How long a machine may be idle before it is removed"`
	StartingPeriod document.Duration `yaml:"starting_period" doc:"How long a machine may take until it has joined"`
	Slots          *int              `yaml:"slots" doc:"Slots of a machine; its GPUs, asked from AWS, when empty"`
	CPUSlots       bool              `yaml:"cpu_slots" doc:"Give a machine without GPUs one slot"`
	MaxAuxTasks    int               `yaml:"max_aux_tasks" doc:"Tasks without slots that one machine may run"`

	TaskPolicy *config.TaskPolicy `yaml:"task_policy" doc:"Wins, setting by setting, over the cluster's"`

	LaunchErrorTimeout *document.Duration `yaml:"launch_error_timeout" doc:"How long a launch error is remembered and shown on waiting tasks"`
	LaunchErrorRetries int                `yaml:"launch_error_retries" doc:"Launch errors in a row that are tolerated before tasks are failed"`

	Image         string `yaml:"image" doc:"AMI of this pool's machines; agents.image when empty"`
	RootVolume    int    `yaml:"root_volume_size" doc:"GB of the root volume; agents.root_volume_size when 0"`
	StartupScript string `yaml:"startup_script" doc:"Runs on a machine before its agent starts; agents.startup_script when empty"`
}

// DefaultAWSPool is a pool before the user says anything.
func DefaultAWSPool() AWSPool {
	return AWSPool{
		InstanceTypes: []string{"g5.xlarge"},
		MaxAgents:     5,
		// Long enough to keep a warm machine between two runs of one notebook
		// cell, short enough that a forgotten GPU does not cost a lunch break.
		IdlePeriod:     document.Duration(10 * time.Minute),
		StartingPeriod: document.Duration(20 * time.Minute),
	}
}

// DefaultAWSAuxPool is the pool of tasks without slots.
func DefaultAWSAuxPool() AWSPool {
	p := DefaultAWSPool()
	p.InstanceTypes = []string{"m6i.large"}
	p.MaxAuxTasks = 16 // of 0.5 GB each, in the 8 GB of an m6i.large
	return p
}

// SetDefaults makes p the default.
func (p *AWSPool) SetDefaults() { *p = DefaultAWSPool() }

var (
	// price is what EC2 takes as a price: digits with at most one dot.
	price = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	// poolName goes into a tag's value and into addresses.
	poolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
)

// PoolNames lists the pools of tasks with slots in their order.
func (a AWS) PoolNames() []string { return slices.Sorted(maps.Keys(a.Pools)) }

// AllPools is every pool by its name, the one of tasks without slots among them.
func (a AWS) AllPools() map[string]AWSPool {
	out := maps.Clone(a.Pools)
	if out == nil {
		out = make(map[string]AWSPool, 1)
	}
	out[AuxPool] = a.AuxPool
	return out
}

func (a AWS) validatePools(path string) document.Errors {
	var e document.Errors
	at := document.Join(path, "pools")
	e = append(e, a.validatePool(document.Join(path, "aux_pool"), a.AuxPool)...)
	e.Check(a.AuxPool.MaxAuxTasks > 0, document.Join(path, "aux_pool.max_aux_tasks"), "must be more than 0 (is %d)", a.AuxPool.MaxAuxTasks)
	for _, name := range a.PoolNames() {
		e.Check(poolName.MatchString(name), document.Join(at, name), "must be called by up to 63 letters, digits, dashes and underscores")
		e.Check(name != AuxPool, document.Join(at, name), "always exists; its settings are in aux_pool")
		e = append(e, a.validatePool(document.Join(at, name), a.Pools[name])...)
	}
	_, ok := a.Pools[a.DefaultPool]
	e.Check(ok, document.Join(path, "default_pool"), "names no pool (is %q)", a.DefaultPool)
	return e
}

func (a AWS) validatePool(path string, p AWSPool) document.Errors {
	e := p.Validate(path)
	if a.Network.Own() {
		e.Check(len(p.Subnets) == 0, document.Join(path, "subnets"), "belong to an existing VPC; name it with network.vpc, or name zones")
	} else {
		e.Check(len(p.Zones) == 0, document.Join(path, "zones"), "belong to an own VPC; name subnets of the existing one instead")
	}
	for i, z := range p.Zones {
		known := len(a.Network.Zones) == 0 || slices.Contains(a.Network.Zones, z)
		e.Check(known, document.Index(document.Join(path, "zones"), i), "must be one of network.zones (is %q)", z)
	}
	return e
}

// Validate checks the pool for itself.
func (p AWSPool) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(len(p.InstanceTypes) > 0, at("instance_types"), "must name at least one")
	for i, t := range p.InstanceTypes {
		checkType(&e, document.Index(at("instance_types"), i), t)
		e.Check(!slices.Contains(p.InstanceTypes[:i], t), document.Index(at("instance_types"), i), "is given twice (%q)", t)
	}
	for i, z := range p.Zones {
		e.Check(zoneName.MatchString(z), document.Index(at("zones"), i), "must be a zone such as us-west-2a (is %q)", z)
	}
	for i, s := range p.Subnets {
		checkID(&e, document.Index(at("subnets"), i), s, subnetID, "subnet-0123456789abcdef0")
	}
	e.Check(p.MinAgents >= 0, at("min_agents"), "must be at least 0 (is %d)", p.MinAgents)
	e.Check(p.MaxAgents > 0, at("max_agents"), "must be more than 0 (is %d)", p.MaxAgents)
	e.Check(p.MaxAgents >= p.MinAgents, at("max_agents"), "must be at least min_agents (%d < %d)", p.MaxAgents, p.MinAgents)
	e.Check(p.MaxPrice == "" || price.MatchString(p.MaxPrice), at("max_price"), "must be dollars an hour, digits with one dot (is %q)", p.MaxPrice)
	e.Check(p.MaxPrice == "" || p.Spot, at("max_price"), "has no effect without spot; set spot: true")
	e.Check(!p.FallbackToOnDemand || p.Spot, at("fallback_to_on_demand"), "has no effect without spot; set spot: true")
	e.Check(p.IdlePeriod > 0, at("idle_period"), "must be more than 0 (is %v)", p.IdlePeriod)
	e.Check(p.StartingPeriod > 0, at("starting_period"), "must be more than 0 (is %v)", p.StartingPeriod)
	e.Check(p.Slots == nil || *p.Slots >= 0, at("slots"), "must be at least 0")
	if p.TaskPolicy != nil {
		e = append(e, p.TaskPolicy.Validate(at("task_policy"))...)
	}
	e.Check(p.MaxAuxTasks >= 0, at("max_aux_tasks"), "must be at least 0 (is %d)", p.MaxAuxTasks)
	e.Check(p.LaunchErrorTimeout == nil || *p.LaunchErrorTimeout >= 0, at("launch_error_timeout"), "must be at least 0")
	e.Check(p.LaunchErrorRetries >= 0, at("launch_error_retries"), "must be at least 0 (is %d)", p.LaunchErrorRetries)
	checkID(&e, at("image"), p.Image, imageID, "ami-0123456789abcdef0")
	e.Check(p.RootVolume == 0 || p.RootVolume >= 100, at("root_volume_size"), "must be at least 100 (is %d)", p.RootVolume)
	return e
}
