package provider

import (
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
)

// GCP launches Compute Engine instances.
type GCP struct {
	Elastic                `yaml:",inline"`
	BaseConfig             document.Raw      `yaml:"base_config" doc:"Instance properties in Google's own format; the other settings take precedence. A disk in it binds the pool to the disk's zone"`
	Project                string            `yaml:"project" doc:"Google project; by default the master's"`
	Zone                   string            `yaml:"zone" doc:"Zone; by default that of a disk in base_config, or the master's"`
	Zones                  []string          `yaml:"zones" doc:"Zones in order of preference, instead of zone"`
	BootDiskSize           int               `yaml:"boot_disk_size" doc:"GB of the boot disk, at least 100"`
	BootDiskSourceImage    string            `yaml:"boot_disk_source_image" doc:"Image of agents: a path, the name of an image of the project, or family/ and the name of a family"`
	BootDiskType           string            `yaml:"boot_disk_type" doc:"Type of the boot disk; by default pd-standard, or pd-balanced or hyperdisk-balanced for machines that do not support it"`
	Labels                 map[string]string `yaml:"labels" doc:"Additional labels of agents"`
	LabelKey               string            `yaml:"label_key" doc:"Label that marks this cluster's agents, for display"`
	LabelValue             string            `yaml:"label_value" doc:"Value of the label, unique to this cluster; by default the name of the master's instance"`
	NamePrefix             string            `yaml:"name_prefix" doc:"Prefix of agents' names; by default det-, the cluster and -"`
	NetworkInterface       GCPNetwork        `yaml:"network_interface" doc:"Network of agents"`
	NetworkTags            []string          `yaml:"network_tags" doc:"Network tags of agents"`
	ServiceAccount         GCPServiceAccount `yaml:"service_account" doc:"Service account of agents"`
	InstanceType           GCPInstanceType   `yaml:"instance_type" doc:"Machine and GPUs of agents"`
	InstanceTypes          []GCPMachine      `yaml:"instance_types" doc:"Machines in order of preference, all with the same slots, instead of instance_type"`
	Spot                   Spot              `yaml:"spot" doc:"Use spot machines"`
	OperationTimeoutPeriod document.Duration `yaml:"operation_timeout_period" doc:"How long Google may take to launch a machine"`
	CPUSlotsAllowed        bool              `yaml:"cpu_slots_allowed" doc:"Give a machine without GPUs one slot"`
	UseCloudLogging        bool              `yaml:"use_cloud_logging" doc:"Send agents' logs to Cloud Logging"`
	Log                    string            `yaml:"log" doc:"Log in Cloud Logging, with use_cloud_logging; by default det-deploy- and the cluster"`
	Metrics                *bool             `yaml:"metrics" doc:"Send metrics of agents' machines to Cloud Monitoring; by default if use_cloud_logging is set"`
}

// GCPNetwork configures the network of instances.
type GCPNetwork struct {
	Network    string `yaml:"network" doc:"Network, by name or path; by default the default network"`
	Subnetwork string `yaml:"subnetwork" doc:"Subnetwork, by name or path; needed with network"`
	ExternalIP bool   `yaml:"external_ip" doc:"Give machines an external address"`
}

// GCPServiceAccount is the identity of instances.
type GCPServiceAccount struct {
	Email  string   `yaml:"email" doc:"Service account; none by default"`
	Scopes []string `yaml:"scopes" doc:"Scopes of the account"`
}

// GCPInstanceType is the machine type of instances.
type GCPInstanceType struct {
	GCPMachine  `yaml:",inline"`
	Preemptible bool `yaml:"preemptible" doc:"Use spot machines; older form of spot: true"`
}

// SetDefaults sets p to the defaults.
func (p *GCP) SetDefaults() {
	*p = GCP{
		Elastic: DefaultElastic(), BootDiskSize: 200,
		BootDiskSourceImage:    "projects/determined-ai/global/images/det-environments-0736b6d",
		LabelKey:               "managed-by",
		ServiceAccount:         GCPServiceAccount{Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}},
		InstanceType:           GCPInstanceType{GCPMachine: GCPMachine{MachineType: "n1-standard-32"}},
		OperationTimeoutPeriod: document.Duration(5 * time.Minute),
	}
}

// IsSpot reports whether the pool launches spot machines.
func (p GCP) IsSpot() bool { return p.Spot.Enabled || p.InstanceType.Preemptible }

// ZoneList returns the zones of the machines in order of preference. If it is empty, the zone of
// the master's machine applies.
func (p GCP) ZoneList() []string {
	switch {
	case len(p.Zones) > 0:
		return p.Zones
	case p.Zone != "":
		return []string{p.Zone}
	}
	base, err := properties.Parse(p.BaseConfig.JSON())
	if err != nil { // validation has rejected it
		return nil
	}
	return properties.Zones(base)
}

// The syntax of Google's names other than labels.
var (
	zoneForm = regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*-[a-z]+[0-9]+-[a-z]$`)
	tagForm  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	nameForm = regexp.MustCompile(`^[a-z][-a-z0-9]{0,39}$`)
	logForm  = regexp.MustCompile(`^[-A-Za-z0-9_./]{1,400}$`)
)

// Validate checks the settings that do not depend on Google.
func (p GCP) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(p.BootDiskSize >= 100, at("boot_disk_size"), "must be at least 100 (is %d)", p.BootDiskSize)
	e.Check(p.BootDiskSourceImage != "", at("boot_disk_source_image"), "is required")
	e.Check(p.OperationTimeoutPeriod > 0, at("operation_timeout_period"), "must be more than 0 (is %v)", p.OperationTimeoutPeriod)
	e.Check(p.NamePrefix == "" || nameForm.MatchString(p.NamePrefix), at("name_prefix"),
		"must begin with a lowercase letter and have at most 40 lowercase letters, digits and dashes (is %q)", p.NamePrefix)
	e.Check(p.Spot.MaxPrice == "", at("spot.max_price"), "is for AWS: Google has one price for spot machines; remove it")
	e.Check(p.Log == "" || logForm.MatchString(p.Log), at("log"), "must have only letters, digits and -_./ (is %q)", p.Log)
	e = append(e, p.validateNetwork(path)...)
	e = append(e, p.validateZones(path)...)
	e = append(e, p.validateLabels(path)...)
	e = append(e, p.validateMachines(path)...)
	return append(e, p.validateBase(at("base_config"))...)
}

func (p GCP) validateNetwork(path string) document.Errors {
	var e document.Errors
	n := p.NetworkInterface
	e.Check((n.Network == "") == (n.Subnetwork == ""), document.Join(path, "network_interface"), "must have both network and subnetwork, or neither")
	for i, tag := range p.NetworkTags {
		e.Check(tagForm.MatchString(tag), document.Index(document.Join(path, "network_tags"), i),
			"must begin with a lowercase letter and have at most 63 lowercase letters, digits and dashes (is %q)", tag)
	}
	return e
}

func (p GCP) validateZones(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	check := func(zone, at string) {
		e.Check(zoneForm.MatchString(zone), at, "must be a zone such as us-west1-b (is %q)", zone)
	}
	if p.Zone != "" {
		check(p.Zone, at("zone"))
	}
	e.Check(p.Zone == "" || len(p.Zones) == 0, at("zones"), "excludes zone; keep one")
	for i, zone := range p.Zones {
		check(zone, document.Index(at("zones"), i))
		e.Check(!slices.Contains(p.Zones[:i], zone), document.Index(at("zones"), i), "is given twice (%q)", zone)
	}
	return e
}

func (p GCP) validateLabels(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	check := func(key, value, path string) {
		err := properties.CheckLabel(key, value)
		e.Check(err == nil, path, "%v", err)
		e.Check(!slices.Contains(properties.ReservedLabels(), key), path, "is a reserved label (is %q)", key)
	}
	e.Check(p.LabelKey != "", at("label_key"), "is required")
	if p.LabelKey != "" {
		check(p.LabelKey, "", at("label_key"))
	}
	if p.LabelValue != "" {
		err := properties.CheckLabel("x", p.LabelValue)
		e.Check(err == nil, at("label_value"), "must have only lowercase letters, digits, dashes and underscores, at most 63 (is %q)", p.LabelValue)
	}
	for key, value := range p.Labels {
		check(key, value, document.Join(at("labels"), key))
	}
	return e
}

func (p GCP) validateBase(path string) document.Errors {
	return CheckBaseConfig(path, p.BaseConfig, properties.Pool{Zones: p.ZoneList(), Account: p.ServiceAccount.Email, Spot: p.IsSpot()})
}

// CheckBaseConfig checks instance properties in Google's own format, by themselves and against the
// other settings of the pool.
func CheckBaseConfig(path string, raw document.Raw, pool properties.Pool) document.Errors {
	base, err := properties.Parse(raw.JSON())
	if err != nil {
		return locateProblems(path, err)
	}
	return toErrors(path, properties.Conflicts(base, pool))
}

func locateProblems(path string, err error) document.Errors {
	problems, ok := errors.AsType[properties.Problems](err)
	if !ok {
		problems = properties.Problems{{Text: err.Error()}}
	}
	return toErrors(path, problems)
}

func toErrors(path string, problems properties.Problems) document.Errors {
	var e document.Errors
	for _, p := range problems {
		place := path
		if p.Path != "" {
			place = document.Join(path, p.Path)
		}
		e = append(e, document.Problem{Path: place, Text: p.Text, Hint: p.Hint})
	}
	return e
}
