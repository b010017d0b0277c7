package spec

import (
	"encoding/json"
	"regexp"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// The names of the pools that every cluster has, as users of Determined know
// them from its own deployments.
const (
	AuxPool     = "aux-pool"
	ComputePool = "compute-pool"
)

// AWS is a whole cluster.yaml of a cluster on AWS.
type AWS struct {
	Cluster  string     `yaml:"cluster_id" doc:"Name of the cluster, unique in the account; given by --cluster-id when empty"`
	Platform string     `yaml:"platform" doc:"aws"`
	Region   string     `yaml:"region" doc:"AWS region"`
	KeyPair  string     `yaml:"key_pair" doc:"EC2 key pair for SSH to the cluster's machines; none when empty"`
	Tags     Tags       `yaml:"tags" doc:"Further tags of everything the cluster consists of"`
	Network  AWSNetwork `yaml:"network" doc:"Where the machines are connected, and who may reach them"`
	Roles    AWSRoles   `yaml:"roles" doc:"Existing IAM roles to use instead of the cluster's own"`
	Master   AWSMaster  `yaml:"master" doc:"The machine that the master runs on"`

	TLS                TLS          `yaml:"tls" doc:"Certificate of the master; one of the cluster's own CA when empty"`
	Database           Database     `yaml:"database" doc:"Where the master keeps its state"`
	InitialPassword    secret.Value `yaml:"initial_password" doc:"Reference to the first password of admin, and of determined where that has none of its own; generated for each when empty"`
	DeterminedPassword secret.Value `yaml:"initial_determined_password" doc:"Reference to the first password of determined"`
	Storage            AWSStorage   `yaml:"storage" doc:"Bucket for checkpoints"`
	Logs               AWSLogs      `yaml:"logs" doc:"CloudWatch logs of all machines"`
	Metrics            bool         `yaml:"metrics" doc:"Send metrics of all machines to CloudWatch"`

	Scheduler   config.Scheduler   `yaml:"scheduler" doc:"How tasks share the pools"`
	AuxPool     AWSPool            `yaml:"aux_pool" doc:"Machines without GPUs for tasks without slots"`
	Pools       map[string]AWSPool `yaml:"pools" doc:"Machines for tasks with slots, by the pool's name; compute-pool when empty"`
	DefaultPool string             `yaml:"default_pool" doc:"Pool of tasks with slots that name none; the first by name when empty"`
	Agents      AWSAgents          `yaml:"agents" doc:"What the machines of all pools have in common"`
	Tasks       Tasks              `yaml:"tasks" doc:"What tasks get unless they say otherwise"`
	TaskPolicy  config.TaskPolicy  `yaml:"task_policy" doc:"What tasks may do to the machines they run on, unless their owner is an administrator"`

	Security Security `yaml:"security" doc:"Who may do what, and what that may cost"`

	EnableCORS bool         `yaml:"enable_cors" doc:"Let browsers on other sites call the API"`
	MasterYAML document.Raw `yaml:"master_yaml" doc:"Settings of master.yaml that are put over those made from this file"`
}

// DefaultAWS is a cluster before the user says anything.
func DefaultAWS() AWS {
	return AWS{
		Platform:  "aws",
		Network:   DefaultAWSNetwork(),
		Master:    DefaultAWSMaster(),
		Storage:   AWSStorage{Saved: config.DefaultSaved()},
		Logs:      DefaultAWSLogs(),
		Metrics:   true,
		Roles:     AWSRoles{SessionManager: true},
		Scheduler: config.DefaultScheduler(),
		AuxPool:   DefaultAWSAuxPool(),
		Agents:    DefaultAWSAgents(),
		Security:  DefaultSecurity(),
	}
}

// SetDefaults makes a the default.
func (a *AWS) SetDefaults() { *a = DefaultAWS() }

// fillDefaults sets the defaults that depend on other settings.
func (a *AWS) fillDefaults() {
	if len(a.Pools) == 0 {
		a.Pools = map[string]AWSPool{ComputePool: DefaultAWSPool()}
	}
	if a.DefaultPool == "" {
		a.DefaultPool = a.PoolNames()[0]
	}
}

// region is how Amazon writes regions: "us-west-2", "ap-southeast-4".
var region = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// ValidRegion reports whether a region may be called name, in any partition.
func ValidRegion(name string) bool { return region.MatchString(name) }

// other is the regions of partitions with names and endpoints of their own.
var other = regexp.MustCompile(`^(us-gov|cn|us-iso[a-z]?|eu-isoe)-`)

// Validate lists every rule that a breaks; path is "" for a file's own root.
func (a AWS) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkCluster(&e, at("cluster_id"), a.Cluster)
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
	e = append(e, a.TLS.Validate(at("tls"))...)
	requireReference(&e, at("database.url"), a.Database.URL)
	requireReference(&e, at("initial_password"), a.InitialPassword)
	requireReference(&e, at("initial_determined_password"), a.DeterminedPassword)
	e = append(e, a.Storage.Validate(at("storage"))...)
	e = append(e, a.Logs.Validate(at("logs"))...)
	e = append(e, a.Scheduler.Validate(at("scheduler"))...)
	e = append(e, a.Agents.Validate(at("agents"))...)
	e = append(e, a.Tasks.Validate(at("tasks"))...)
	e = append(e, a.TaskPolicy.Validate(at("task_policy"))...)
	e = append(e, a.Security.Validate(at("security"))...)
	e = append(e, a.validatePools(path)...)
	return append(e, a.MasterYAML.Check(at("master_yaml"), checkObject)...)
}

// validatePlace refuses a place of the master in the other kind of network, where
// it would have no effect.
func (a AWS) validatePlace(path string) document.Errors {
	var e document.Errors
	if a.Network.Own() {
		e.Check(a.Master.Subnet == "", document.Join(path, "subnet"), "belongs to an existing VPC; name it with network.vpc, or name a zone")
	} else {
		e.Check(a.Master.Zone == "", document.Join(path, "zone"), "belongs to an own VPC; name a subnet of the existing one instead")
	}
	return e
}

// Database is where the master keeps its state.
type Database struct {
	URL secret.Value `yaml:"url" doc:"Reference to the URL of a PostgreSQL database; one embedded in the master, on its data volume, when empty"`
}

func checkObject(data []byte) error {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return errNoMapping
	}
	return nil
}
