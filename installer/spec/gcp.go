package spec

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// GCP is the cluster.yaml of a cluster on Google Cloud.
type GCP struct {
	Common `yaml:",inline"`

	Platform string     `yaml:"platform" doc:"gcp" after:"cluster_id"`
	Project  string     `yaml:"project" doc:"ID of the Google project; by default that of gcloud's configuration or of the credentials"`
	Region   string     `yaml:"region" doc:"Google region; by default that of gcloud's configuration"`
	Labels   Labels     `yaml:"labels" doc:"Additional labels for all resources of the cluster that support labels"`
	Network  GCPNetwork `yaml:"network" doc:"Network of the machines, and who may reach them"`
	Roles    GCPRoles   `yaml:"roles" doc:"Existing service accounts to use instead of the cluster's own"`
	Master   GCPMaster  `yaml:"master" doc:"Machine of the master"`

	Logs    GCPLogs `yaml:"logs" doc:"Cloud Logging of all machines" after:"storage"`
	Metrics bool    `yaml:"metrics" doc:"Send metrics of all machines to Cloud Monitoring"`

	PoolSet[GCPPool] `yaml:",inline" after:"scheduler"`

	Agents GCPAgents `yaml:"agents" doc:"Settings common to the machines of all pools" after:"default_pool"`
}

// DefaultGCP returns the default settings.
func DefaultGCP() GCP {
	return GCP{
		Common:   defaultCommon(),
		Platform: "gcp",
		Network:  DefaultGCPNetwork(),
		Master:   DefaultGCPMaster(),
		Metrics:  true,
		PoolSet:  PoolSet[GCPPool]{AuxPool: defaultGCPAuxPool()},
		Agents:   GCPAgents{Agents: defaultAgents(), BootDisk: GCPBootDisk{Size: 200, Type: balancedDisk}},
	}
}

// SetDefaults sets g to the defaults.
func (g *GCP) SetDefaults() { *g = DefaultGCP() }

// Complete sets the ID if it is empty, and the defaults that depend on other settings.
func (g *GCP) Complete(id string) {
	g.Cluster = cmp.Or(g.Cluster, id)
	g.fillDefaults(&g.DefaultPool, DefaultGCPPool())
}

// These match project IDs, with the domain of the organization before a colon if they have one, and
// the names of regions and zones: "us-central1", "us-central1-a".
var (
	gcpProject = regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	gcpRegion  = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+$`)
	gcpZone    = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+-[a-z]$`)
)

// forbiddenInBuckets matches what Cloud Storage rejects in names of buckets, which contain the cluster ID.
// https://cloud.google.com/storage/docs/buckets#naming
var forbiddenInBuckets = regexp.MustCompile(`g[o0][o0]g[l1]e`)

// ValidProject reports whether name is a syntactically valid project ID.
func ValidProject(name string) bool { return gcpProject.MatchString(name) }

// ValidGCPRegion reports whether name is a syntactically valid region.
func ValidGCPRegion(name string) bool { return gcpRegion.MatchString(name) }

// Validate returns all errors in g; path is "" for the root of a file.
func (g GCP) Validate(path string) document.Errors {
	at := func(key string) string { return document.Join(path, key) }
	e := g.Common.validate(path, secret.GCP)
	e.Check(!forbiddenInBuckets.MatchString(g.Cluster), at("cluster_id"), "must not contain google or a similar spelling, which names of buckets may not (is %q)", g.Cluster)
	e.Check(g.Platform == "gcp", at("platform"), "must be gcp (is %q)", g.Platform)
	e.Check(g.Project != "", at("project"), "is required; set it, give --project, or run: gcloud config set project PROJECT")
	e.Check(g.Project == "" || ValidProject(g.Project), at("project"), "must be the id of a project such as my-lab-123, not its name or number (is %q)", g.Project)
	e.Check(g.Region != "", at("region"), "is required; set it, give --region, or run: gcloud config set compute/region REGION")
	e.Check(g.Region == "" || ValidGCPRegion(g.Region), at("region"), "must be a region of Google's such as us-central1 (is %q)", g.Region)
	e = append(e, g.Labels.Validate(at("labels"))...)
	e = append(e, g.Network.Validate(at("network"))...)
	e = append(e, g.Roles.Validate(at("roles"))...)
	e = append(e, g.Master.Validate(at("master"))...)
	g.checkZone(&e, at("master.zone"), g.Master.Zone)
	e = append(e, g.Logs.Validate(at("logs"))...)
	e = append(e, g.Agents.Validate(at("agents"))...)
	return append(e, g.PoolSet.validate(path, g.DefaultPool, g.validatePool)...)
}

// checkZone reports a zone that is invalid or belongs to another region.
func (g GCP) checkZone(e *document.Errors, path, zone string) {
	valid := zone == "" || gcpZone.MatchString(zone)
	e.Check(valid, path, "must be a zone such as us-central1-a (is %q)", zone)
	of := g.Region == "" || zone == "" || !valid || zone[:len(zone)-2] == g.Region
	e.Check(of, path, "must be a zone of %s (is %q)", g.Region, zone)
}

func (g GCP) validatePool(path string, p GCPPool) document.Errors {
	e := p.Validate(path)
	for i, z := range p.Zones {
		g.checkZone(&e, document.Index(document.Join(path, "zones"), i), z)
	}
	return e
}

// GCPLogs configures the logs of all machines: the log det-deploy-CLUSTER in the project's default
// log bucket, which determines the retention.
type GCPLogs struct {
	KeepOnDown bool `yaml:"keep_on_down" doc:"Keep the log's entries when the cluster is removed"`
}

// Validate returns nil: every value is valid.
func (GCPLogs) Validate(string) document.Errors { return nil }

// GCPRoles names existing service accounts.
type GCPRoles struct {
	Master string `yaml:"master" doc:"E-mail of an existing service account for the master, or default for the Compute Engine default account; by default a new one"`
	Agent  string `yaml:"agent" doc:"E-mail of an existing service account for agents, default for the Compute Engine default account, or none; by default a new one"`
}

// The service accounts that are not given by e-mail.
const (
	// DefaultAccount is the project's Compute Engine default service account.
	DefaultAccount = "default"
	// NoAccount is for machines without a service account; only agents may have none.
	NoAccount = "none"
)

// accountEmail matches the e-mails of service accounts, including those that Google creates.
var accountEmail = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*@[a-z0-9][a-z0-9.-]*\.gserviceaccount\.com$`)

// Validate checks the syntax of e-mails.
func (r GCPRoles) Validate(path string) document.Errors {
	var e document.Errors
	check := func(key, account string, words ...string) {
		ok := account == "" || accountEmail.MatchString(account)
		text := "must be the e-mail of a service account"
		for _, w := range words {
			ok = ok || account == w
			text += fmt.Sprintf(", or %s", w)
		}
		e.Check(ok, document.Join(path, key), "%s (is %q)", text, account)
	}
	check("master", r.Master, DefaultAccount)
	check("agent", r.Agent, DefaultAccount, NoAccount)
	return e
}

// GCPFlags returns the settings of a cluster on Google Cloud that have flags. Other settings, such
// as a second pool, are set in a file.
func GCPFlags() Table { return newTable("gcp", gcpPlaceFlags(), gcpMachineFlags()) }

func gcpPlaceFlags() Table {
	return Table{
		textFlag("project", "project", "Google project (default that of gcloud)"),
		textFlag("region", "region", "Google region (default that of gcloud)"),
		textFlag("zone", "master.zone", "zone of the master"),
		textFlag("label", "labels", "additional labels for all resources, as key=value,key=value"),
		boolFlag("agent-external-ip", "network.external_ip", "assign external addresses to agents"),
		boolFlag("nat", "network.nat", "create a router with Cloud NAT in the managed network"),
		textFlag("network-cidr", "network.cidr", "address range of the managed network's subnetwork"),
		textFlag("network-tag", "network.tags", "additional network tags of all machines"),
		textFlag("network", "network.network", "existing network to use"),
		textFlag("subnetwork", "network.subnetwork", "subnetwork of the existing network"),
		textFlag("host-project", "network.host_project", "project that shares the existing network"),
		boolFlag("share-access", "network.share_access", "grant the cluster's accounts Compute Network User on the shared subnetwork"),
		wordFlag("firewall", "network.firewall", "firewall rules in an existing network: own or existing", "own", "existing"),
		textFlag("master-service-account", "roles.master", "existing service account of the master, or default"),
		textFlag("agent-service-account", "roles.agent", "existing service account of agents, default or none"),
	}
}

func gcpMachineFlags() Table {
	return Table{
		textFlag("master-machine-type", "master.machine_type", "machine type of the master"),
		textFlag("master-image", "master.image", "image of the master"),
		textFlag("master-boot-disk-size", "master.boot_disk_size", "size of the master's boot disk in GB"),
		textFlag("data-disk-size", "master.disk.size", "size of the master's data disk in GB"),
		textFlag("data-disk-type", "master.disk.type", "type of the master's data disk"),
		textFlag("data-disk", "master.disk.name", "existing disk for the master's data"),
		textFlag("data-snapshot", "master.disk.snapshot", "snapshot for the data disk"),
		textFlag("machine", anyPool+"machines", "machine types of the compute pool, in order of preference, as TYPE or TYPE+NUMBERxGPU"),
		textFlag("pool-zone", anyPool+"zones", "zones of the compute pool, in order of preference"),
		textFlag("aux-machine", "aux_pool.machines", "machine types of the pool for tasks without slots"),
		textFlag("agent-image", "agents.image", "image of agents"),
		textFlag("agent-boot-disk-size", "agents.boot_disk.size", "size of agents' boot disks in GB"),
		textFlag("agent-boot-disk-type", "agents.boot_disk.type", "type of agents' boot disks"),
		boolFlag("keep-logs", "logs.keep_on_down", "keep the log's entries when the cluster is removed"),
		boolFlag("metrics", "metrics", "send the metrics of all machines to Cloud Monitoring"),
	}
}
