// Package config defines master.yaml: its settings with their defaults and rules, deprecated forms,
// and settings that are not implemented yet.
package config

import (
	"net"
	"net/url"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/policy"
)

// Master is the content of a master.yaml.
type Master struct {
	ConfigFile string `yaml:"config_file" doc:"Configuration file; can only be set by flag or environment variable"`
	Log        Log    `yaml:"log" doc:"Log of the master"`
	Port       int    `yaml:"port" doc:"Port for the API, agents and tasks; 0 means 8443 with TLS and 8080 without"`
	BindIP     string `yaml:"bind_ip" doc:"Address to listen on; by default all"`
	Root       string `yaml:"root" doc:"Directory of the web UI's static files; has no effect, because the program contains them"`
	DataDir    string `yaml:"data_dir" doc:"Directory of the embedded database, the cluster's keys and certificates"`
	Binaries   string `yaml:"binaries_dir" doc:"Directory of det-deploy programs for agents, each named after its platform, such as linux-arm64; by default the master serves its own program"`
	DB         DB     `yaml:"db" doc:"Database of the master"`
	Cache      Cache  `yaml:"cache" doc:"File cache"`

	TensorboardTimeout document.Seconds  `yaml:"tensorboard_timeout" doc:"Idle time after which a TensorBoard is stopped"`
	NotebookTimeout    *document.Seconds `yaml:"notebook_timeout" doc:"Time without use after which a notebook that sets no idle_timeout is ended; never by default"`

	ClusterName string   `yaml:"cluster_name" doc:"Name shown to users"`
	EnableCORS  bool     `yaml:"enable_cors" doc:"No effect by itself: list the sites in cors_origins"`
	CORSOrigins []string `yaml:"cors_origins" doc:"Sites whose pages may call the API with a token, but never with the user's cookie, such as https://portal.example.com"`
	Proxy       Proxy    `yaml:"proxy" doc:"Pages of tasks that browsers visit through the master"`
	LaunchError bool     `yaml:"launch_error" doc:"Fail tasks for which no machine can be launched (launch_error_timeout), and refuse those on several machines that can never fit, instead of warning; what runs on one machine, as commands do, is refused either way"`

	Security        security.Settings `yaml:"security" doc:"Users, TLS and authorization"`
	Telemetry       Telemetry         `yaml:"telemetry" doc:"Usage reports"`
	Observability   Observability     `yaml:"observability" doc:"Metrics endpoints"`
	Logging         Logging           `yaml:"logging" doc:"Storage of task logs"`
	RetentionPolicy RetentionPolicy   `yaml:"retention_policy" doc:"When task logs are deleted, and how long ended tasks are listed"`
	Webhooks        Webhooks          `yaml:"webhooks" doc:"Notifications of other systems about task events"`

	FeatureSwitches []string `yaml:"feature_switches" doc:"Switches of Determined 0.38.1; prevent_blank_password is the default here"`
	ReservedPorts   []int    `yaml:"reserved_ports" doc:"Ports that are never assigned to programs of tasks on agents"`

	CheckpointStorage     *CheckpointStorage `yaml:"checkpoint_storage" doc:"Default storage of checkpoints"`
	TaskContainerDefaults container.Defaults `yaml:"task_container_defaults" doc:"Defaults of task containers"`
	TaskPolicy            TaskPolicy         `yaml:"task_policy" doc:"Access of tasks to their machines; does not limit administrators"`

	ResourceManager            ResourceManager             `yaml:"resource_manager" doc:"How tasks run"`
	ResourcePools              []Pool                      `yaml:"resource_pools" doc:"Groups of identical agents"`
	AdditionalResourceManagers []AdditionalResourceManager `yaml:"additional_resource_managers" doc:"Further Kubernetes clusters"`

	UICustomization *UICustomization `yaml:"ui_customization" doc:"Logo of the web UI"`
	Integrations    Integrations     `yaml:"integrations" doc:"Other systems"`
	SCIM            *SCIM            `yaml:"scim" doc:"User provisioning by an identity provider"`
	SAML            *SAML            `yaml:"saml" doc:"Sign-on by SAML"`
	OIDC            *OIDC            `yaml:"oidc" doc:"Sign-on by OpenID Connect"`
	DetCloud        *DetCloud        `yaml:"det_cloud" doc:"Settings of the hosted product"`
	Internal        Internal         `yaml:"__internal" doc:"Settings that may change without notice"`
}

// Paths returns the default locations of master.yaml: the current one, then those in images of
// older releases.
func Paths() []string {
	return []string{
		"/etc/determined/master.yaml",
		"/usr/local/determined/etc/master.yaml",
		"/usr/local/pedl/etc/master.yaml",
	}
}

// DefaultMaster returns the default settings.
func DefaultMaster() Master {
	return Master{
		ConfigFile:            "/etc/determined/master.yaml",
		Log:                   DefaultLog(),
		Root:                  "/usr/share/determined/master",
		DataDir:               "/var/lib/determined",
		DB:                    DefaultDB(),
		Cache:                 Cache{Dir: "/var/cache/determined"},
		TensorboardTimeout:    document.Seconds(5 * time.Minute),
		LaunchError:           true,
		Security:              security.Default(),
		Telemetry:             DefaultTelemetry(),
		Observability:         Observability{EnablePrometheus: true},
		Logging:               Logging{Default: &DefaultLogging{}},
		TaskContainerDefaults: container.Default(),
		ResourceManager:       DefaultResourceManager(),
	}
}

// SetDefaults sets m to the defaults.
func (m *Master) SetDefaults() { *m = DefaultMaster() }

// fillDefaults sets the defaults that depend on other settings. given reports whether a key was set.
func (m *Master) fillDefaults(given func(path string) bool) {
	if len(m.ResourcePools) == 0 {
		m.ResourcePools = []Pool{DefaultPool("default")}
	}
	m.ResourceManager.fillDefaultPools("resource_manager", m.ResourcePools, given)
	for i, a := range m.AdditionalResourceManagers {
		at := document.Join(document.Index("additional_resource_managers", i), "resource_manager")
		a.ResourceManager.fillDefaultPools(at, a.ResourcePools, given)
	}
}

var _ document.KeyAdviser = (*Master)(nil)

// AdviseKey implements document.KeyAdviser for keys that belong to the provider of a pool.
func (m *Master) AdviseKey(key string) string {
	if provider.AdviseKey(key) == "" {
		return ""
	}
	return "belongs to the provider of a pool: write resource_pools:, a pool with a pool_name, and below it provider: above it"
}

// ListenPort returns the configured port, or by default 8443 with TLS and 8080 without.
func (m Master) ListenPort() int {
	switch {
	case m.Port != 0:
		return m.Port
	case m.Security.TLS.Enabled():
		return 8443
	default:
		return 8080
	}
}

// Printable returns the configuration for display, with the keys of the file and redacted secrets.
func (m Master) Printable() map[string]any { return document.Show(m) }

// shortestIdle is the minimum of notebook_timeout, as of idle_timeout in the configuration of a notebook.
const shortestIdle = 10 * time.Second

// NotebookLimit returns the time without use after which a notebook is ended; zero is never.
func (m Master) NotebookLimit() time.Duration {
	if m.NotebookTimeout == nil {
		return 0
	}
	return time.Duration(*m.NotebookTimeout)
}

// Validate returns all errors in m; path is "" for the root of a file.
func (m Master) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e = append(e, m.Log.Validate(at("log"))...)
	e.Check(m.Port >= 0 && m.Port <= 65535, at("port"), "must be between 0 and 65535 (is %d)", m.Port)
	e.Check(m.BindIP == "" || net.ParseIP(m.BindIP) != nil, at("bind_ip"), "must be an IP address (is %q)", m.BindIP)
	e.Check(m.DataDir != "", at("data_dir"), "is required")
	e = append(e, CheckOrigins(at("cors_origins"), m.CORSOrigins)...)
	e = append(e, m.Proxy.Validate(at("proxy"))...)
	e = append(e, m.DB.Validate(at("db"))...)
	e.Check(m.TensorboardTimeout > 0, at("tensorboard_timeout"), "must be more than 0 (is %v)", m.TensorboardTimeout)
	if t := m.NotebookTimeout; t != nil {
		e.Check(time.Duration(*t) >= shortestIdle, at("notebook_timeout"), "must be at least %v (is %v); leave it out for no limit", shortestIdle, *t)
	}
	e = append(e, m.Security.Validate(at("security"))...)
	e = append(e, m.Logging.Validate(at("logging"))...)
	e = append(e, m.RetentionPolicy.Validate(at("retention_policy"))...)
	for i, p := range m.ReservedPorts {
		e.Check(p > 0 && p <= 65535, document.Index(at("reserved_ports"), i), "must be between 1 and 65535 (is %d)", p)
	}
	if m.CheckpointStorage != nil {
		e = append(e, m.CheckpointStorage.Validate(at("checkpoint_storage"))...)
		e = append(e, m.checkStorageMount(at("checkpoint_storage.host_path"))...)
	}
	e = append(e, m.TaskContainerDefaults.Validate(at("task_container_defaults"))...)
	e = append(e, m.TaskPolicy.Validate(at("task_policy"))...)
	e = append(e, m.validatePools(path)...)
	e = append(e, m.checkMinPriority(path)...)
	return e
}

// checkStorageMount checks that tasks may mount the directory of the checkpoint storage.
func (m Master) checkStorageMount(at string) document.Errors {
	var e document.Errors
	if s := m.CheckpointStorage.SharedFS; s != nil && s.HostPath != "" {
		what, reached := policy.Reaches(s.HostPath, m.guardedPaths())
		e.Check(!reached, at, "exposes %s, which no task may mount; name a directory for checkpoints alone (is %q)", what, s.HostPath)
	}
	return e
}

// Cache configures the file cache.
type Cache struct {
	Dir string `yaml:"cache_dir" doc:"Directory for cached files; this master caches nothing on disk"`
}

// Observability configures metrics.
type Observability struct {
	EnablePrometheus bool `yaml:"enable_prometheus" doc:"Serve metrics for Prometheus"`
}

// Webhooks configures notifications of other systems.
type Webhooks struct {
	BaseURL    string       `yaml:"base_url" doc:"Address of this cluster in the messages"`
	SigningKey secret.Value `yaml:"signing_key" doc:"Key that signs the messages"`
}

// Telemetry configures usage reports. det-deploy reports nothing.
type Telemetry struct {
	Enabled             bool         `yaml:"enabled" doc:"Usage reports; this master sends none"`
	SegmentMasterKey    secret.Value `yaml:"segment_master_key" doc:"Key for usage reports of the master"`
	SegmentWebUIKey     secret.Value `yaml:"segment_webui_key" doc:"Key for usage reports of the web UI"`
	OTelEnabled         bool         `yaml:"otel_enabled" doc:"Send traces by OpenTelemetry"`
	OTelEndpoint        string       `yaml:"otel_endpoint" doc:"Collector of the traces"`
	OTelExportedService string       `yaml:"otel_service_name" doc:"Service name in the traces"`
}

// DefaultTelemetry returns settings that report nothing.
func DefaultTelemetry() Telemetry { return Telemetry{OTelEndpoint: "localhost:4317"} }

// CheckOrigins returns an error for each text that is not an origin as browsers send it: scheme,
// name and port in lower case. The origin null is not accepted, because every sandboxed page has
// it.
func CheckOrigins(path string, origins []string) document.Errors {
	var e document.Errors
	for i, text := range origins {
		e.Check(isOrigin(text), document.Index(path, i), "must be the origin of one site, such as https://portal.example.com (is %q)", text)
	}
	return e
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.Hostname() != "*" &&
		text == u.Scheme+"://"+u.Host
}
