package spec

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// AWS is the cluster.yaml of a cluster on AWS.
type AWS struct {
	Common `yaml:",inline"`

	Platform string     `yaml:"platform" doc:"aws" after:"cluster_id"`
	Region   string     `yaml:"region" doc:"AWS region"`
	KeyPair  string     `yaml:"key_pair" doc:"EC2 key pair for SSH to the cluster's machines; none when empty"`
	Tags     Tags       `yaml:"tags" doc:"Additional tags for all resources of the cluster"`
	Network  AWSNetwork `yaml:"network" doc:"Network of the machines, and who may reach them"`
	Roles    AWSRoles   `yaml:"roles" doc:"Existing IAM roles to use instead of the cluster's own"`
	Master   AWSMaster  `yaml:"master" doc:"Machine of the master"`

	Logs    AWSLogs `yaml:"logs" doc:"CloudWatch logs of all machines" after:"storage"`
	Metrics bool    `yaml:"metrics" doc:"Send metrics of all machines to CloudWatch"`

	PoolSet[AWSPool] `yaml:",inline" after:"scheduler"`

	Agents AWSAgents `yaml:"agents" doc:"Settings common to the machines of all pools" after:"default_pool"`
}

// DefaultAWS returns the default settings.
func DefaultAWS() AWS {
	return AWS{
		Common:   defaultCommon(),
		Platform: "aws",
		Network:  DefaultAWSNetwork(),
		Master:   DefaultAWSMaster(),
		Logs:     DefaultAWSLogs(),
		Metrics:  true,
		Roles:    AWSRoles{SessionManager: true},
		PoolSet:  PoolSet[AWSPool]{AuxPool: defaultAWSAuxPool()},
		Agents:   AWSAgents{Agents: defaultAgents(), RootVolume: 200},
	}
}

// SetDefaults sets a to the defaults.
func (a *AWS) SetDefaults() { *a = DefaultAWS() }

// Complete sets the ID if it is empty, and the defaults that depend on other settings.
func (a *AWS) Complete(id string) {
	a.Cluster = cmp.Or(a.Cluster, id)
	a.fillDefaults(&a.DefaultPool, DefaultAWSPool())
}

// region matches the names of AWS regions: "us-west-2", "ap-southeast-4".
var region = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// ValidRegion reports whether name is a syntactically valid region of any partition.
func ValidRegion(name string) bool { return region.MatchString(name) }

// other matches the regions of other partitions, which have their own names and endpoints.
var other = regexp.MustCompile(`^(us-gov|cn|us-iso[a-z]?|eu-isoe)-`)

// Validate returns all errors in a; path is "" for the root of a file.
func (a AWS) Validate(path string) document.Errors {
	at := func(key string) string { return document.Join(path, key) }
	e := a.Common.validate(path, secret.AWS)
	e.Check(a.Platform == "aws", at("platform"), "must be aws (is %q)", a.Platform)
	e.Check(a.Region != "", at("region"), "is required; set it or give --region")
	e.Check(a.Region == "" || region.MatchString(a.Region), at("region"), "must be an AWS region such as us-west-2 (is %q)", a.Region)
	e.Check(!other.MatchString(a.Region), at("region"), "is in a partition that is not built yet; choose a commercial region (is %q)", a.Region)
	e = append(e, a.Tags.Validate(at("tags"))...)
	e = append(e, a.Network.Validate(at("network"))...)
	e.Check(!a.Network.SSH || a.KeyPair != "", at("key_pair"), "is required with network.ssh")
	e = append(e, a.Roles.Validate(at("roles"))...)
	e = append(e, a.Master.Validate(at("master"))...)
	e = append(e, a.validatePlace(at("master"))...)
	e = append(e, a.Logs.Validate(at("logs"))...)
	e = append(e, a.Agents.Validate(at("agents"))...)
	return append(e, a.PoolSet.validate(path, a.DefaultPool, a.validatePool)...)
}

// validatePlace reports a place of the master that belongs to the other kind of network, where it
// would have no effect.
func (a AWS) validatePlace(path string) document.Errors {
	var e document.Errors
	if a.Network.Own() {
		e.Check(a.Master.Subnet == "", document.Join(path, "subnet"), "belongs to an existing VPC; name it with network.vpc, or name a zone")
	} else {
		e.Check(a.Master.Zone == "", document.Join(path, "zone"), "applies only to the cluster's own VPC; name a subnet of the existing one instead")
	}
	return e
}

// AWSAgents are the settings common to the machines of all pools.
type AWSAgents struct {
	Image      string `yaml:"image" doc:"AMI; by default the newest of AWS with NVIDIA drivers and Docker"`
	RootVolume int    `yaml:"root_volume_size" doc:"GB of the root volume, at least 100"`
	Agents     `yaml:",inline"`
}

// Validate checks the image and the numbers.
func (a AWSAgents) Validate(path string) document.Errors {
	e := a.validate(path)
	checkID(&e, document.Join(path, "image"), a.Image, imageID, "ami-0123456789abcdef0")
	e.Check(a.RootVolume >= 100, document.Join(path, "root_volume_size"), "must be at least 100 (is %d)", a.RootVolume)
	return e
}

// AWSLogs configures the log group of all machines.
type AWSLogs struct {
	Group         string `yaml:"group" doc:"Existing CloudWatch log group, kept by down; by default a new one, /det-deploy/ and the cluster ID"`
	RetentionDays int    `yaml:"retention_days" doc:"Days after which lines of the cluster's own group are deleted; 0 for never"`
	KeepOnDown    bool   `yaml:"keep_on_down" doc:"Keep the cluster's own log group when the cluster is removed"`
}

// DefaultAWSLogs keeps logs for 30 days: enough to notice a problem, at a limited cost.
func DefaultAWSLogs() AWSLogs { return AWSLogs{RetentionDays: 30} }

// retentionDays returns the retention periods that CloudWatch accepts.
func retentionDays() []int {
	return []int{0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
}

var logGroup = regexp.MustCompile(`^[A-Za-z0-9._/#-]{1,512}$`)

// Validate checks the limits of CloudWatch.
func (l AWSLogs) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(l.Group == "" || logGroup.MatchString(l.Group) && !strings.HasPrefix(l.Group, "aws/"), document.Join(path, "group"),
		"must be up to 512 letters, digits and . _ / # -, and not begin with aws/ (is %q)", l.Group)
	e.Check(l.Group == "" || l.RetentionDays == DefaultAWSLogs().RetentionDays, document.Join(path, "retention_days"),
		"has no effect on an existing group, which keeps its retention; leave it out")
	e.Check(slices.Contains(retentionDays(), l.RetentionDays), document.Join(path, "retention_days"),
		"must be a number of days that CloudWatch supports: 0 (for ever), 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653 (is %d)", l.RetentionDays)
	return e
}

// AWSFlags returns the settings of a cluster on AWS that have flags. Other settings, such as a
// second pool, are set in a file.
func AWSFlags() Table { return newTable("aws", awsPlaceFlags(), awsMachineFlags()) }

func awsPlaceFlags() Table {
	return Table{
		textFlag("region", "region", "AWS region"),
		textFlag("key-pair", "key_pair", "EC2 key pair for SSH to the cluster's machines"),
		textFlag("tag", "tags", "additional tags for all resources, as key=value,key=value"),
		boolFlag("agent-public-ip", "network.public_ip", "assign public addresses to agents"),
		textFlag("network-cidr", "network.cidr", "address range of the managed VPC"),
		textFlag("zone", "network.zones", "availability zones of the managed VPC"),
		textFlag("vpc", "network.vpc", "existing VPC to use"),
		textFlag("subnet", "network.subnets", "subnets of the existing VPC, in order of preference"),
		textFlag("master-security-group", "network.master_security_group", "existing security group of the master"),
		textFlag("agent-security-group", "network.agent_security_group", "existing security group of agents"),
		textFlag("master-role", "roles.master", "existing IAM role of the master"),
		textFlag("agent-role", "roles.agent", "existing IAM role of agents"),
		textFlag("master-instance-profile", "roles.master_profile", "existing instance profile of the master, with its role"),
		textFlag("agent-instance-profile", "roles.agent_profile", "existing instance profile of agents, with its role"),
		boolFlag("session-manager", "roles.session_manager", "allow AWS Session Manager"),
	}
}

func awsMachineFlags() Table {
	return Table{
		textFlag("master-instance-type", "master.instance_type", "instance type of the master"),
		textFlag("master-image", "master.image", "AMI of the master"),
		textFlag("master-subnet", "master.subnet", "subnet of an existing VPC for the master"),
		textFlag("master-zone", "master.zone", "availability zone of the master in a managed VPC"),
		textFlag("master-root-volume-size", "master.root_volume_size", "size of the master's root volume in GB"),
		textFlag("data-volume-size", "master.volume.size", "size of the master's data volume in GB"),
		textFlag("data-volume", "master.volume.id", "existing volume for the master's data"),
		textFlag("data-snapshot", "master.volume.snapshot", "snapshot for the data volume"),
		textFlag("instance-type", anyPool+"instance_types", "instance types of the compute pool, in order of preference"),
		textFlag("slots", anyPool+"slots", "slots per agent of the compute pool"),
		textFlag("spot-max-price", anyPool+"max_price", "maximum spot price in dollars per hour"),
		textFlag("aux-instance-type", "aux_pool.instance_types", "instance types of the pool for tasks without slots"),
		textFlag("agent-image", "agents.image", "AMI of agents"),
		textFlag("agent-root-volume-size", "agents.root_volume_size", "size of agents' root volumes in GB"),
		textFlag("log-group", "logs.group", "CloudWatch log group"),
		textFlag("log-retention-days", "logs.retention_days", "days after which logs are deleted; 0 for never"),
		boolFlag("keep-log-group", "logs.keep_on_down", "keep the log group when the cluster is removed"),
		boolFlag("metrics", "metrics", "send the metrics of all machines to CloudWatch"),
	}
}
