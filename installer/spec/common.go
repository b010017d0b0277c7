// Package spec defines cluster.yaml, the requested configuration of a cluster, with its defaults
// and rules. A cluster is described by a file, by flags, or by both; settings that a run omits keep
// their recorded values.
package spec

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// Common holds the settings that are the same on every cloud. The type of a platform embeds it and
// adds its own keys.
type Common struct {
	Cluster string `yaml:"cluster_id" doc:"Name of the cluster, unique in the account; given by --cluster-id when empty"`

	TLS                TLS          `yaml:"tls" doc:"Certificate of the master; by default one signed by the cluster's own CA"`
	Database           Database     `yaml:"database" doc:"Database of the master"`
	InitialPassword    secret.Value `yaml:"initial_password" doc:"Reference to the initial password of admin, and of determined unless that is set; generated for each by default"`
	DeterminedPassword secret.Value `yaml:"initial_determined_password" doc:"Reference to the initial password of determined"`
	Storage            Storage      `yaml:"storage" doc:"Bucket for checkpoints"`

	Scheduler   config.Scheduler  `yaml:"scheduler" doc:"Scheduler of tasks"`
	DefaultPool string            `yaml:"default_pool" doc:"Default pool of tasks with slots; by default the first by name"`
	Tasks       Tasks             `yaml:"tasks" doc:"Defaults of tasks"`
	TaskPolicy  config.TaskPolicy `yaml:"task_policy" doc:"Access of tasks to their machines; does not limit administrators"`

	Proxy provider.Proxy `yaml:"proxy" doc:"Proxies of the machines of the master and of agents: their boot, det-deploy, Docker and tasks"`

	Security Security `yaml:"security" doc:"Permissions and resource limits"`

	EnableCORS  bool         `yaml:"enable_cors" doc:"No effect by itself: list the sites in cors_origins"`
	CORSOrigins []string     `yaml:"cors_origins" doc:"Sites whose pages may call the API with a token, but never with the user's cookie, such as https://portal.example.com"`
	MasterYAML  document.Raw `yaml:"master_yaml" doc:"Settings of master.yaml that override those derived from this file"`
}

func defaultCommon() Common {
	return Common{
		Storage:   Storage{Saved: config.DefaultSaved()},
		Scheduler: config.DefaultScheduler(),
		Security:  DefaultSecurity(),
	}
}

// validate returns all errors in c; vault is the scheme of the cloud's secret store.
func (c *Common) validate(path string, vault secret.Scheme) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	checkCluster(&e, at("cluster_id"), c.Cluster)
	e = append(e, c.TLS.Validate(at("tls"), vault)...)
	requireReference(&e, at("database.url"), c.Database.URL, vault)
	requireReference(&e, at("initial_password"), c.InitialPassword, vault)
	requireReference(&e, at("initial_determined_password"), c.DeterminedPassword, vault)
	e = append(e, c.Storage.validate(at("storage"))...)
	e = append(e, c.Scheduler.Validate(at("scheduler"))...)
	e = append(e, c.Tasks.validate(at("tasks"), vault)...)
	e = append(e, c.TaskPolicy.Validate(at("task_policy"))...)
	e = append(e, c.Proxy.Validate(at("proxy"))...)
	e = append(e, c.Security.Validate(at("security"))...)
	e.Check(!c.EnableCORS || len(c.CORSOrigins) > 0, at("enable_cors"), "has no effect by itself; list the sites in cors_origins, or set it to false")
	e = append(e, config.CheckOrigins(at("cors_origins"), c.CORSOrigins)...)
	return append(e, c.MasterYAML.Check(at("master_yaml"), checkObject)...)
}

// Database configures the master's database.
type Database struct {
	URL secret.Value `yaml:"url" doc:"Reference to the URL of a PostgreSQL database; by default the master's embedded database, on its data volume"`
}

func checkObject(data []byte) error {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return errors.New("must be a mapping of keys to values")
	}
	return nil
}

// Storage configures the storage of checkpoints.
type Storage struct {
	config.Saved `yaml:",inline"`
	Bucket       string `yaml:"bucket" doc:"Existing bucket, kept by down; by default a new one"`
	Prefix       string `yaml:"prefix" doc:"Prefix of object names"`
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func (s Storage) validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(s.Bucket == "" || bucketName.MatchString(s.Bucket), at("bucket"), "must be the name of a bucket (is %q)", s.Bucket)
	e.Check(!strings.HasPrefix(s.Prefix, "/") && !strings.Contains(s.Prefix, ".."), at("prefix"), "must be a relative path without .. (is %q)", s.Prefix)
	count := func(key string, n int) { e.Check(n >= 0, at(key), "must be at least 0 (is %d)", n) }
	count("save_experiment_best", s.ExperimentBest)
	count("save_trial_best", s.TrialBest)
	count("save_trial_latest", s.TrialLatest)
	return e
}

// Tasks holds the defaults of tasks.
type Tasks struct {
	CPUImage        string            `yaml:"cpu_image" doc:"Image of tasks without GPUs; by default the one that the client requests"`
	GPUImage        string            `yaml:"gpu_image" doc:"Image of tasks with GPUs; by default the one that the client requests"`
	Registry        Registry          `yaml:"registry" doc:"Credentials for the image registry"`
	HarnessWheel    string            `yaml:"harness_wheel" doc:"Absolute path of a wheel of the determined library on this computer, for trials whose image lacks it"`
	NotebookTimeout *document.Seconds `yaml:"notebook_timeout" doc:"Time without use after which a notebook that sets no idle_timeout is ended; never by default"`
}

// Registry is an account at an image registry.
type Registry struct {
	Server   string       `yaml:"server" doc:"Registry; Docker Hub by default"`
	User     string       `yaml:"user" doc:"User"`
	Password secret.Value `yaml:"password" doc:"Reference to the password"`
}

// validate checks that the registry account is complete. Its password may be in the vault.
func (t Tasks) validate(path string, vault secret.Scheme) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	r := t.Registry
	requireReference(&e, at("registry.password"), r.Password, vault)
	e.Check(r.User == "" || !r.Password.IsZero(), at("registry.password"), "is required with a user")
	e.Check(r.User != "" || r.Password.IsZero(), at("registry.user"), "is required with a password")
	e.Check(r.User != "" || r.Server == "", at("registry.user"), "is required with a server")
	for _, p := range (container.Wheel{File: t.HarnessWheel}).Validate("") {
		e.Check(false, at("harness_wheel"), "%s", p.Text)
	}
	e.Check(t.NotebookTimeout == nil || *t.NotebookTimeout > 0, at("notebook_timeout"), "must be more than 0; leave it out for no limit")
	return e
}

// Security holds permissions and limits, as in master.yaml.
type Security struct {
	DefaultTask security.AgentUser  `yaml:"default_task" doc:"Unix user of tasks whose owner has no linked one"`
	TrustUsers  bool                `yaml:"trust_users" doc:"Allow every user to submit tasks; otherwise only administrators may"`
	Visibility  security.Visibility `yaml:"visibility" doc:"Logs that users may read: open, all; private, only their own"`
	Audit       security.AuditLog   `yaml:"audit" doc:"Retention of the audit log, see det-deploy audit"`
	Proxies     security.Proxies    `yaml:"proxies" doc:"Load balancers and proxies in front of the master"`
	Limits      security.Limits     `yaml:"limits" doc:"Resource limits of anonymous clients and users"`
}

// DefaultSecurity returns the default settings.
func DefaultSecurity() Security {
	m := security.Default()
	return Security{m.DefaultTask, m.TrustUsers, m.Visibility, m.Audit, m.Proxies, m.Limits}
}

// Over returns m with these settings.
func (s Security) Over(m security.Settings) security.Settings {
	m.DefaultTask, m.TrustUsers, m.Visibility = s.DefaultTask, s.TrustUsers, s.Visibility
	m.Audit, m.Proxies, m.Limits = s.Audit, s.Proxies, s.Limits
	return m
}

// Validate applies the rules of master.yaml.
func (s Security) Validate(path string) document.Errors {
	return s.Over(security.Default()).Validate(path)
}

// clusterID matches valid cluster IDs. An ID becomes part of paths and of names on every platform;
// Google's rules are the strictest.
var clusterID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}[a-z0-9]$|^[a-z]$`)

// ValidCluster reports whether id is a valid cluster ID.
func ValidCluster(id string) bool { return clusterID.MatchString(id) }

func checkCluster(e *document.Errors, path, id string) {
	e.Check(ValidCluster(id), path, "must have up to 31 lower-case letters, digits and inner hyphens, beginning with a letter (is %q)", id)
	// The control bucket of "lab-data" would have the name of the data bucket of "lab".
	e.Check(!strings.HasSuffix(id, "-data"), path, "must not end in -data (is %q)", id)
}

// requireReference reports a secret in plain text, because a cluster's settings are stored and must
// not contain secrets. Vault is the scheme of the secret store of the cluster's cloud.
func requireReference(e *document.Errors, path string, v secret.Value, vault secret.Scheme) {
	ref, ok := v.Ref()
	switch {
	case v.IsZero():
	case !ok:
		e.Add(path, "must be a reference and not the secret itself; write %s", referencesTo(vault))
	case !slices.Contains([]secret.Scheme{secret.File, secret.Env, vault}, ref.Scheme):
		e.Add(path, "must be kept where the cluster can read it; write %s (is %s)", referencesTo(vault), ref)
	}
}

// referencesTo lists the forms of references to secrets.
func referencesTo(vault secret.Scheme) string {
	if vault == "" {
		return "file:/path or env:NAME"
	}
	return "file:/path, env:NAME or " + string(vault) + ":NAME"
}

// ClusterOf returns the cluster ID in a cluster.yaml, or "".
func ClusterOf(file []byte, name string) (string, error) {
	d, err := document.Parse(file, name)
	if err != nil {
		return "", err
	}
	n, ok := d.Root().Get("cluster_id")
	if !ok {
		return "", nil
	}
	return n.Text(), nil
}
