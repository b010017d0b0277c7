// Package config defines agent.yaml, the configuration of an agent. It imports no other package of
// the agent.
package config

import (
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Agent is the content of agent.yaml.
type Agent struct {
	ConfigFile string `yaml:"config_file" doc:"Configuration file; set by flag or environment variable"`
	Log        Log    `yaml:"log" doc:"Log of the agent itself"`

	MasterHost          string `yaml:"master_host" doc:"Host of the master"`
	MasterPort          int    `yaml:"master_port" doc:"Port of the master; 0 means 443 with TLS and 80 without"`
	AgentID             string `yaml:"agent_id" doc:"ID of this agent, unique in the cluster; default: the host name"`
	ResourcePool        string `yaml:"resource_pool" doc:"Resource pool of this agent"`
	ContainerMasterHost string `yaml:"container_master_host" doc:"Host of the master as seen by tasks; default: master_host"`
	ContainerMasterPort int    `yaml:"container_master_port" doc:"Port of the master as seen by tasks; 0 means master_port"`
	JoinTokenFile       string `yaml:"join_token_file" doc:"File with the join token; required if the master is on another machine"`
	MachineSocket       string `yaml:"machine_socket" doc:"Unix socket for identity proofs and interruption notices; only on machines launched by a master"`
	MachineSecretFile   string `yaml:"machine_secret_file" doc:"File with the secret that proves the identity of this machine; only on machines that are processes of their master"`
	ClusterID           string `yaml:"cluster_id" doc:"ID of the cluster that launched this machine; identity proofs are valid for this cluster only"`
	DataDir             string `yaml:"data_dir" doc:"Directory for the agent's credential, orders and unacknowledged logs"`

	ProtectedPaths []string `yaml:"protected_paths" doc:"Paths that no task may mount, not even an administrator's, in addition to the agent's own and those of container engines"`

	SlotType        string `yaml:"slot_type" doc:"auto, cuda (or gpu), rocm, cpu or none"`
	VisibleGPUs     string `yaml:"visible_gpus" doc:"Comma-separated list of GPUs to use, by index or UUID; default: ROCR_VISIBLE_DEVICES, then CUDA_VISIBLE_DEVICES"`
	ArtificialSlots int    `yaml:"artificial_slots" doc:"Number of fake slots, for testing; overrides slot_type"`

	ContainerRuntime            string         `yaml:"container_runtime" doc:"docker, process, or auto: docker if the Docker daemon is running, else process"`
	TaskUsers                   string         `yaml:"task_users" doc:"Range of unused Unix user IDs, FIRST-LAST. With container_runtime process and an agent that runs as root, each task runs as one of them, isolated from the machine and from other tasks. Empty disables isolation"`
	TaskProcessLimit            int64          `yaml:"task_process_limit" doc:"Maximum number of processes and threads per task that is isolated without Docker; 0 means no limit"`
	TaskMemoryLimit             document.Bytes `yaml:"task_memory_limit" doc:"Memory limit per task that is isolated without Docker; empty means only the limit of the cluster's task_policy"`
	TrustUsers                  bool           `yaml:"trust_users" doc:"Run the tasks of all users, not only of administrators, if they cannot be isolated. Users who may submit tasks can then do everything that this agent's user can"`
	DockerNetwork               string         `yaml:"docker_network" doc:"Default Docker network of tasks, created if it does not exist; host, or Docker's default if empty or default"`
	DockerRuntime               string         `yaml:"docker_runtime" doc:"Runtime of Docker for tasks; empty or runc means the daemon's default"`
	ContainerAutoRemoveDisabled bool           `yaml:"container_auto_remove_disabled" doc:"Keep the containers of finished tasks, for debugging"`

	Security Security `yaml:"security" doc:"Security of the connection to the master"`

	Debug      bool   `yaml:"debug" doc:"Enable debug logging"`
	APIEnabled bool   `yaml:"api_enabled" doc:"Serve profiles of this agent"`
	BindIP     string `yaml:"bind_ip" doc:"Address on which profiles are served"`
	BindPort   int    `yaml:"bind_port" doc:"Port on which profiles are served"`
	TLS        bool   `yaml:"tls" doc:"Serve the profiles with TLS"`
	TLSCert    string `yaml:"tls_cert" doc:"Certificate file for the profiles"`
	TLSKey     string `yaml:"tls_key" doc:"Private key file for the profiles"`

	HTTPProxy  document.Secret `yaml:"http_proxy" doc:"Value of HTTP_PROXY for tasks"`
	HTTPSProxy document.Secret `yaml:"https_proxy" doc:"Value of HTTPS_PROXY for tasks"`
	FTPProxy   document.Secret `yaml:"ftp_proxy" doc:"Value of FTP_PROXY for tasks"`
	NoProxy    string          `yaml:"no_proxy" doc:"Value of NO_PROXY for tasks: comma-separated hosts to reach without a proxy"`

	AgentReconnectAttempts int              `yaml:"agent_reconnect_attempts" doc:"Maximum number of attempts to reconnect; 0 means unlimited"`
	AgentReconnectBackoff  document.Seconds `yaml:"agent_reconnect_backoff" doc:"Delay between attempts to reconnect"`

	AutoUpdate bool `yaml:"auto_update" doc:"Update to the master's version; always enabled on machines launched by a master"`

	Hooks  Hooks         `yaml:"hooks" doc:"Commands run on events"`
	Fluent *document.Raw `yaml:"fluent" doc:"No effect: agents ship logs themselves"`

	// Settings that agents of Determined print or have printed.
	Label              *document.Raw `yaml:"label" doc:"No effect: agents are grouped by resource_pool"`
	ImageRoot          *document.Raw `yaml:"image_root" doc:"No effect: images are kept by Docker"`
	SingularityOptions *document.Raw `yaml:"singularity_options" doc:"No effect: tasks do not run in Singularity"`
	PodmanOptions      *document.Raw `yaml:"podman_options" doc:"No effect: tasks do not run in Podman"`
}

// Hooks are commands that run on events.
type Hooks struct {
	OnConnectionLost []string `yaml:"on_connection_lost" doc:"Command and arguments to run when all attempts to reconnect have failed"`
	OnJoinRefused    []string `yaml:"on_join_refused" doc:"Command and arguments to run when the master rejects this machine, usually to switch it off; only on machines launched by a master"`
}

// Paths returns the default locations of agent.yaml.
func Paths() []string { return []string{"/etc/determined/agent.yaml"} }

// DefaultAgent returns the default configuration.
func DefaultAgent() Agent {
	return Agent{
		ConfigFile:       "/etc/determined/agent.yaml",
		Log:              Log{Level: "info", Color: true},
		ResourcePool:     "default",
		DataDir:          "/var/lib/determined-agent",
		SlotType:         SlotAuto,
		ContainerRuntime: RuntimeAuto,
		TaskUsers:        DefaultTaskUsers,
		TaskProcessLimit: DefaultTaskProcessLimit,
		BindIP:           "0.0.0.0",
		BindPort:         9090,
		// Retry forever: an upgrade of the master may take longer than any number of attempts, and
		// an agent that gives up kills its tasks.
		AgentReconnectAttempts: 0,
		AgentReconnectBackoff:  document.Seconds(5 * time.Second),
	}
}

// SetDefaults sets a to the default configuration.
func (a *Agent) SetDefaults() { *a = DefaultAgent() }

// Port returns the port of the master.
func (a Agent) Port() int {
	switch {
	case a.MasterPort != 0:
		return a.MasterPort
	case a.Security.TLS.Enabled:
		return 443
	default:
		return 80
	}
}

// Scheme returns "https" with TLS and "http" without.
func (a Agent) Scheme() string {
	if a.Security.TLS.Enabled {
		return "https"
	}
	return "http"
}

// Launched reports whether a master launched this machine, which then proves its own identity.
func (a Agent) Launched() bool { return a.MachineSocket != "" || a.MachineSecretFile != "" }

// Validate returns an error for each invalid setting.
func (a Agent) Validate(path string) document.Errors {
	at := func(key string) string { return document.Join(path, key) }
	e := a.Log.Validate(at("log"))
	e.Check(a.MasterHost != "", at("master_host"), "is required")
	e.Check(a.ResourcePool != "", at("resource_pool"), "is required")
	e.Check(a.DataDir != "", at("data_dir"), "is required")
	for i, p := range a.ProtectedPaths {
		e.Check(filepath.IsAbs(p), document.Index(at("protected_paths"), i), "must be absolute (is %q)", p)
	}
	for key, port := range map[string]int{
		"master_port": a.MasterPort, "container_master_port": a.ContainerMasterPort, "bind_port": a.BindPort,
	} {
		e.Check(port >= 0 && port <= 65535, at(key), "must be between 0 and 65535 (is %d)", port)
	}
	e = append(e, document.OneOf(at("slot_type"), a.SlotType, slotTypes())...)
	e = append(e, document.OneOf(at("container_runtime"), a.ContainerRuntime, runtimes())...)
	if _, _, err := a.TaskUserRange(); err != nil {
		e.Check(false, at("task_users"), "%v", err)
	}
	e.Check(a.TaskProcessLimit >= 0, at("task_process_limit"), "must be at least 0 (is %d)", a.TaskProcessLimit)
	e.Check(a.TaskMemoryLimit >= 0, at("task_memory_limit"), "must be at least 0 (is %d)", a.TaskMemoryLimit)
	e.Check(a.ArtificialSlots >= 0, at("artificial_slots"), "must be at least 0 (is %d)", a.ArtificialSlots)
	e.Check(a.AgentReconnectAttempts >= 0, at("agent_reconnect_attempts"), "must be at least 0 (is %d)", a.AgentReconnectAttempts)
	e.Check(a.AgentReconnectBackoff > 0, at("agent_reconnect_backoff"), "must be more than 0 (is %v)", a.AgentReconnectBackoff)
	e.Check(!a.TLS || a.TLSCert != "", at("tls_cert"), "is required with tls")
	e.Check(!a.TLS || a.TLSKey != "", at("tls_key"), "is required with tls")
	for key, argv := range map[string][]string{
		"hooks.on_connection_lost": a.Hooks.OnConnectionLost, "hooks.on_join_refused": a.Hooks.OnJoinRefused,
	} {
		e.Check(len(argv) == 0 || argv[0] != "", at(key)+"[0]", "must be a command")
	}
	e.Check(a.MachineSocket == "" || a.MachineSecretFile == "", at("machine_secret_file"), "excludes machine_socket; keep one")
	e.Check(!a.Launched() || a.ClusterID != "", at("cluster_id"), "is required with machine_socket and machine_secret_file")
	e.Check(a.Launched() || len(a.Hooks.OnJoinRefused) == 0, at("hooks.on_join_refused"), "requires machine_socket: it is only for machines launched by a master")
	return append(e, a.Security.TLS.Validate(at("security.tls"))...)
}
