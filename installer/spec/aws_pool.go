package spec

import (
	"regexp"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
)

// AWSPool is a pool of EC2 instances.
type AWSPool struct {
	Pool `yaml:",inline"`

	InstanceTypes []string `yaml:"instance_types" doc:"Instance types in order of preference, all with the same slots" after:"description"`
	Zones         []string `yaml:"zones" doc:"Zones of the cluster's VPC in order of preference; by default all of its zones"`
	Subnets       []string `yaml:"subnets" doc:"Subnets of an existing VPC in order of preference; by default all of network.subnets"`
	MaxPrice      string   `yaml:"max_price" doc:"Maximum spot price in dollars per hour; by default the on-demand price" after:"spot"`
	Slots         *int     `yaml:"slots" doc:"Slots per machine; by default the number of its GPUs" after:"starting_period"`
	Image         string   `yaml:"image" doc:"AMI of this pool's machines; by default agents.image" after:"launch_error_retries"`
	RootVolume    int      `yaml:"root_volume_size" doc:"GB of the root volume; agents.root_volume_size when 0"`
}

// DefaultAWSPool returns the default settings of a pool.
func DefaultAWSPool() AWSPool {
	return AWSPool{Pool: defaultPool(), InstanceTypes: []string{"g5.xlarge"}}
}

// defaultAWSAuxPool returns the default pool of tasks without slots.
func defaultAWSAuxPool() AWSPool {
	p := DefaultAWSPool()
	p.InstanceTypes = []string{"m6i.large"}
	p.MaxAuxTasks = 16 // each with 0.5 GB, in the 8 GB of an m6i.large
	return p
}

// DescribePools returns a line for each pool.
func (a *AWS) DescribePools() []string {
	return describePools(a.AllPools(), func(p AWSPool) string { return p.Describe(p.InstanceTypes) })
}

// SetDefaults sets p to the defaults.
func (p *AWSPool) SetDefaults() { *p = DefaultAWSPool() }

// price matches the prices that EC2 accepts: digits with at most one dot.
var price = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

func (a AWS) validatePool(path string, p AWSPool) document.Errors {
	e := p.Validate(path)
	if a.Network.Own() {
		e.Check(len(p.Subnets) == 0, document.Join(path, "subnets"), "belong to an existing VPC; name it with network.vpc, or name zones")
	} else {
		e.Check(len(p.Zones) == 0, document.Join(path, "zones"), "apply only to the cluster's own VPC; name subnets of the existing one instead")
	}
	for i, z := range p.Zones {
		known := len(a.Network.Zones) == 0 || slices.Contains(a.Network.Zones, z)
		e.Check(known, document.Index(document.Join(path, "zones"), i), "must be one of network.zones (is %q)", z)
	}
	return e
}

// Validate checks the pool by itself.
func (p AWSPool) Validate(path string) document.Errors {
	e := p.validate(path)
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
	e.Check(p.MaxPrice == "" || price.MatchString(p.MaxPrice), at("max_price"), "must be a price in dollars per hour, such as 1.5 (is %q)", p.MaxPrice)
	e.Check(p.MaxPrice == "" || p.Spot, at("max_price"), "has no effect without spot; set spot: true")
	e.Check(p.Slots == nil || *p.Slots >= 0, at("slots"), "must be at least 0")
	checkID(&e, at("image"), p.Image, imageID, "ami-0123456789abcdef0")
	e.Check(p.RootVolume == 0 || p.RootVolume >= 100, at("root_volume_size"), "must be at least 100 (is %d)", p.RootVolume)
	return e
}
