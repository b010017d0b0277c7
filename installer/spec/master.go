package spec

import (
	"regexp"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// AWSMaster configures the master's machine.
type AWSMaster struct {
	InstanceType string    `yaml:"instance_type" doc:"Instance type, with at least 2 vCPUs and 4 GB"`
	Image        string    `yaml:"image" doc:"AMI; by default the newest Ubuntu of the region"`
	Subnet       string    `yaml:"subnet" doc:"Subnet of an existing VPC; by default the first of network.subnets"`
	Zone         string    `yaml:"zone" doc:"Zone in the cluster's VPC; by default the first that offers the instance type"`
	RootVolume   int       `yaml:"root_volume_size" doc:"GB of the root volume"`
	Volume       AWSVolume `yaml:"volume" doc:"Volume for the database, keys and logs of tasks"`
}

// AWSVolume is the master's data volume: new, existing, or created from a snapshot.
type AWSVolume struct {
	Size     int    `yaml:"size" doc:"Size in GB; it can grow later but not shrink"`
	ID       string `yaml:"id" doc:"Existing volume to use; kept by down"`
	Snapshot string `yaml:"snapshot" doc:"Snapshot from which the volume is created"`
}

// DefaultAWSMaster returns the default settings.
func DefaultAWSMaster() AWSMaster {
	return AWSMaster{
		InstanceType: "m6i.large",
		RootVolume:   50,
		// Determined's requirement for a master's disk.
		Volume: AWSVolume{Size: 100},
	}
}

// instanceType matches a family and a size: "g5.xlarge", "u-6tb1.56xlarge".
var instanceType = regexp.MustCompile(`^[a-z0-9-]+\.[a-z0-9-]+$`)

func checkType(e *document.Errors, path, t string) {
	e.Check(instanceType.MatchString(t), path, "must be an instance type such as m6i.large (is %q)", t)
}

// Validate checks sizes and syntax.
func (m AWSMaster) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkType(&e, at("instance_type"), m.InstanceType)
	checkID(&e, at("image"), m.Image, imageID, "ami-0123456789abcdef0")
	checkID(&e, at("subnet"), m.Subnet, subnetID, "subnet-0123456789abcdef0")
	e.Check(m.Zone == "" || zoneName.MatchString(m.Zone), at("zone"), "must be a zone such as us-west-2a (is %q)", m.Zone)
	e.Check(m.RootVolume >= 20, at("root_volume_size"), "must be at least 20 (is %d)", m.RootVolume)
	return append(e, m.Volume.Validate(at("volume"))...)
}

// Validate checks the size and that the volume has a single source.
func (v AWSVolume) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(v.Size >= 100, at("size"), "must be at least 100 (is %d)", v.Size)
	checkID(&e, at("id"), v.ID, volumeID, "vol-0123456789abcdef0")
	checkID(&e, at("snapshot"), v.Snapshot, snapID, "snap-0123456789abcdef0")
	e.Check(v.ID == "" || v.Size == DefaultAWSMaster().Volume.Size, at("size"), "has no effect on an existing volume, which keeps its size; leave it out")
	e.Check(v.ID == "" || v.Snapshot == "", at("snapshot"), "excludes an existing volume; keep one of id and snapshot")
	return e
}

// AWSRoles names existing roles. The cluster creates an instance profile for each of them, unless the
// profile exists too.
type AWSRoles struct {
	Master string `yaml:"master" doc:"Name or ARN of an existing role for the master; by default a new one"`
	Agent  string `yaml:"agent" doc:"Name or ARN of an existing role for agents; by default a new one"`
	// MasterProfile and AgentProfile are profiles that exist with their roles.
	MasterProfile string `yaml:"master_profile" doc:"Name or ARN of an existing instance profile for the master, whose role it then uses; by default a new one"`
	AgentProfile  string `yaml:"agent_profile" doc:"Name or ARN of an existing instance profile for agents, whose role they then use; by default a new one"`
	// SessionManager allows access without SSH.
	SessionManager bool `yaml:"session_manager" doc:"Allow AWS Session Manager on machines with the cluster's own roles"`
}

// roleName matches the role names that IAM accepts, alone or at the end of an ARN.
var roleName = regexp.MustCompile(`^(arn:aws[a-z-]*:iam::[0-9]{12}:role/([!-~]*/)?)?[A-Za-z0-9+=,.@_-]{1,64}$`)

// profileName matches the names of instance profiles that IAM accepts, alone or at the end of an ARN.
var profileName = regexp.MustCompile(`^(arn:aws[a-z-]*:iam::[0-9]{12}:instance-profile/([!-~]*/)?)?[A-Za-z0-9+=,.@_-]{1,128}$`)

// Validate checks the syntax of names and ARNs.
func (r AWSRoles) Validate(path string) document.Errors {
	var e document.Errors
	check := func(key, role string) {
		e.Check(role == "" || roleName.MatchString(role), document.Join(path, key), "must be the name or ARN of an IAM role (is %q)", role)
	}
	check("master", r.Master)
	check("agent", r.Agent)
	profile := func(key, profile, role string) {
		at := document.Join(path, key)
		e.Check(profile == "" || profileName.MatchString(profile), at, "must be the name or ARN of an instance profile (is %q)", profile)
		e.Check(profile == "" || role == "", at, "excludes an existing role, because the profile has one; keep one of them")
	}
	profile("master_profile", r.MasterProfile, r.Master)
	profile("agent_profile", r.AgentProfile, r.Agent)
	return e
}

// RoleName returns the name of a role given by name or ARN.
func RoleName(role string) string { return role[strings.LastIndex(role, "/")+1:] }
