package provider

import (
	"regexp"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// AWS launches EC2 instances.
type AWS struct {
	Elastic               `yaml:",inline"`
	Region                string     `yaml:"region" doc:"AWS region; by default the master's"`
	RootVolumeSize        int        `yaml:"root_volume_size" doc:"GB of the root volume, at least 100"`
	ImageID               string     `yaml:"image_id" doc:"AMI of agents"`
	RootDeviceName        string     `yaml:"root_device_name" doc:"Root device of the AMI, such as /dev/sda1; by default read from AWS"`
	TagKey                string     `yaml:"tag_key" doc:"Tag that marks this cluster's agents"`
	TagValue              string     `yaml:"tag_value" doc:"Value of the tag, unique to this cluster; by default the master's instance"`
	InstanceName          string     `yaml:"instance_name" doc:"Name tag of agents"`
	SSHKeyName            string     `yaml:"ssh_key_name" doc:"EC2 key pair of agents; without one, SSH to them is not possible"`
	NetworkInterface      AWSNetwork `yaml:"network_interface" doc:"Network of agents"`
	Subnets               []string   `yaml:"subnets" doc:"Subnets in order of preference, instead of network_interface.subnet_id"`
	IAMInstanceProfileARN string     `yaml:"iam_instance_profile_arn" doc:"Instance profile of agents"`
	InstanceType          string     `yaml:"instance_type" doc:"Instance type of agents"`
	InstanceTypes         []string   `yaml:"instance_types" doc:"Instance types in order of preference, all with the same slots, instead of instance_type"`
	InstanceSlots         *int       `yaml:"instance_slots" doc:"Slots per instance, for unknown instance types"`
	CPUSlotsAllowed       bool       `yaml:"cpu_slots_allowed" doc:"Give an instance without GPUs one slot"`
	Spot                  Spot       `yaml:"spot" doc:"Use spot instances"`
	SpotMaxPrice          string     `yaml:"spot_max_price" doc:"Maximum spot price in dollars per hour; by default the on-demand price"`
	LogGroup              string     `yaml:"log_group" doc:"CloudWatch log group of agents"`
	LogStream             string     `yaml:"log_stream" doc:"CloudWatch log stream of agents"`
	Metrics               *bool      `yaml:"metrics" doc:"Send metrics of agents' machines to CloudWatch; by default if log_group is set"`
	CustomTags            []Tag      `yaml:"custom_tags" doc:"Additional tags of agents"`
}

// AWSNetwork configures the network of instances.
type AWSNetwork struct {
	PublicIP        bool   `yaml:"public_ip" doc:"Give instances a public address"`
	SubnetID        string `yaml:"subnet_id" doc:"Subnet; by default one of the default VPC"`
	SecurityGroupID string `yaml:"security_group_id" doc:"Security group"`
}

// Tag is a tag of an instance.
type Tag struct {
	Key   string `yaml:"key" doc:"Key of the tag"`
	Value string `yaml:"value" doc:"Value of the tag"`
}

// SetDefaults sets p to the defaults.
func (p *AWS) SetDefaults() {
	*p = AWS{
		Elastic: DefaultElastic(), RootVolumeSize: 200,
		TagKey: "managed_by", InstanceName: "determined-ai-agent",
		NetworkInterface: AWSNetwork{PublicIP: true}, InstanceType: "g4dn.metal",
	}
}

// price matches the prices that EC2 accepts: digits with at most one dot.
var price = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// Validate checks the settings that do not depend on AWS.
func (p AWS) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(p.RootVolumeSize >= 100, at("root_volume_size"), "must be at least 100 (is %d)", p.RootVolumeSize)
	e.Check(p.RootDeviceName == "" || strings.HasPrefix(p.RootDeviceName, "/dev/"), at("root_device_name"), "must be a device, as in /dev/sda1 (is %q)", p.RootDeviceName)
	e.Check(p.TagKey != "", at("tag_key"), "is required")
	e.Check(len(p.Subnets) == 0 || p.NetworkInterface.SubnetID == "", at("subnets"), "excludes network_interface.subnet_id; keep one")
	e = append(e, p.validateTypes(path)...)
	maxPrice, key := p.SpotMaxPrice, "spot_max_price"
	if p.Spot.MaxPrice != "" {
		e.Check(maxPrice == "", at(key), "is also given in spot.max_price; keep one")
		maxPrice, key = p.Spot.MaxPrice, "spot.max_price"
	}
	e.Check(maxPrice == "" || price.MatchString(maxPrice), at(key), "must be a price in dollars per hour, such as 1.5 (is %q)", maxPrice)
	e.Check(maxPrice == "" || p.Spot.Enabled, at(key), "has no effect without spot; set spot: true")
	for i, t := range p.CustomTags {
		e.Check(t.Key != "", document.Join(document.Index(at("custom_tags"), i), "key"), "is required")
	}
	return e
}

// Types returns the instance types in order of preference.
func (p AWS) Types() []string {
	if len(p.InstanceTypes) > 0 {
		return p.InstanceTypes
	}
	return []string{p.InstanceType}
}

// Slots returns the number of slots of an instance type. ok is false if the type is unknown and
// instance_slots is not set.
func (p AWS) Slots(instanceType string) (slots int, ok bool) {
	if p.InstanceSlots != nil {
		return *p.InstanceSlots, true
	}
	slots, ok = AWSSlots(instanceType)
	if ok && slots == 0 && p.CPUSlotsAllowed {
		return 1, true
	}
	return slots, ok
}

func (p AWS) validateTypes(path string) document.Errors {
	var e document.Errors
	if s := p.InstanceSlots; s != nil {
		e.Check(*s >= 0, document.Join(path, "instance_slots"), "must be at least 0 (is %d)", *s)
	}
	first := -1
	for i, t := range p.Types() {
		at := document.Join(path, "instance_type")
		if len(p.InstanceTypes) > 0 {
			at = document.Index(document.Join(path, "instance_types"), i)
		}
		slots, ok := p.Slots(t)
		e.Check(ok, at, "is an unknown instance type; set instance_slots (is %q)", t)
		if ok && first < 0 {
			first = slots
		}
		e.Check(!ok || slots == first, at, "must have as many slots as the first type (%d, not %d)", slots, first)
	}
	return e
}
