package spec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Flag is a setting with a command-line flag.
type Flag struct {
	document.Override
	// FromFile marks a flag whose value is a file name; the content of the file is used and
	// recorded.
	FromFile bool
	// Document marks a setting that is itself a YAML document.
	Document bool
	// Absolute marks a flag whose value is a file name, recorded as an absolute path.
	Absolute bool
}

// Table lists the settings of a platform that have flags. It declares the flags and environment
// variables, and merges and reads their values.
type Table []Flag

// anyPool is the placeholder in a flag's path for the single pool of tasks with slots.
const anyPool = "pools.*."

func textFlag(flag, path, usage string) Flag {
	return Flag{Override: document.Override{Flag: flag, Path: path, Usage: usage}}
}

// wordFlag returns a flag whose value is one of a few words.
func wordFlag(flag, path, usage string, words ...string) Flag {
	f := textFlag(flag, path, usage)
	f.Values = words
	return f
}

func boolFlag(flag, path, usage string) Flag {
	f := textFlag(flag, path, usage)
	f.Bool = true
	return f
}

// secretFlag returns a flag for a secret, whose value must be a reference.
func secretFlag(flag, path, usage string) Flag {
	f := textFlag(flag, path, usage)
	f.Reference = true
	return f
}

func contentFlag(flag, path, usage string) Flag {
	f := textFlag(flag, path, usage)
	f.FromFile = true
	return f
}

// absoluteFlag returns a flag for a file that is recorded by its absolute path.
func absoluteFlag(flag, path, usage string) Flag {
	f := textFlag(flag, path, usage)
	f.Absolute = true
	return f
}

func documentFlag(flag, path, usage string) Flag {
	f := contentFlag(flag, path, usage)
	f.Document = true
	return f
}

// Overrides returns the table in the form that declares flags.
func (t Table) Overrides() []document.Override {
	out := make([]document.Override, len(t))
	for i, f := range t {
		out[i] = f.Override
	}
	return out
}

// Find returns the flag that sets path.
func (t Table) Find(path string) (f Flag, found bool) {
	i := slices.IndexFunc(t, func(f Flag) bool { return f.Path == path })
	if i < 0 {
		return Flag{}, false
	}
	return t[i], true
}

// Defaults returns all settings with their default values.
func (t Table) Defaults() map[string]string {
	out := make(map[string]string, len(t))
	for _, f := range t {
		out[f.Flag] = ""
		if f.Default != nil {
			out[f.Flag] = fmt.Sprint(f.Default)
		}
	}
	return out
}

// ReadFiles replaces the value of every file flag by the file's content or absolute path. read reads the
// file of a flag.
func (t Table) ReadFiles(given []document.Given, read func(flag, path string) ([]byte, error)) ([]document.Given, error) {
	out := slices.Clone(given)
	for i, g := range out {
		f, _ := t.Find(g.Path)
		if g.Value == "" {
			continue
		}
		if f.FromFile {
			data, err := read(g.Source, g.Value)
			if err != nil {
				return nil, err
			}
			out[i].Value = string(data)
		}
		if f.Absolute {
			path, err := filepath.Abs(g.Value)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", g.Source, err)
			}
			out[i].Value = path
		}
	}
	return out, nil
}

// newTable returns the table of a cloud: its own rows and those common to all clouds.
func newTable(platform string, own ...Table) Table {
	out := slices.Concat(append(own, serverFlags(), TLSFlags("tls"), poolFlags(), agentFlags(), taskFlags())...)
	for i, f := range out {
		out[i].Env = "DET_" + strings.ToUpper(platform+"_"+strings.ReplaceAll(f.Flag, "-", "_"))
	}
	return out
}

func serverFlags() Table {
	return Table{
		textFlag("inbound-cidr", "network.inbound_cidrs", "address ranges that may reach the master"),
		boolFlag("ssh", "network.ssh", "allow SSH from the same address ranges"),
		textFlag("http-proxy", "proxy.http_proxy", "proxy of the machines for http"),
		textFlag("https-proxy", "proxy.https_proxy", "proxy of the machines for https"),
		textFlag("no-proxy", "proxy.no_proxy", "comma-separated hosts that machines reach without a proxy"),
		secretFlag("db-url", "database.url", "reference to the URL of an external PostgreSQL database"),
		secretFlag("initial-password", "initial_password", "reference to the initial password of admin, and of determined unless set"),
		secretFlag("initial-determined-password", "initial_determined_password", "reference to the initial password of determined"),
		textFlag("data-bucket", "storage.bucket", "existing bucket for checkpoints"),
		textFlag("data-prefix", "storage.prefix", "prefix of checkpoints in the bucket"),
		boolFlag("enable-cors", "enable_cors", "allow cross-origin requests (CORS); requires --cors-origins"),
		textFlag("cors-origins", "cors_origins", "comma-separated sites whose pages may call the API"),
		documentFlag("master-config-file", "master_yaml", "file with master.yaml settings that override the cluster's"),
	}
}

// TLSFlags returns the flags of a TLS at path.
func TLSFlags(path string) Table {
	at := func(key string) string { return document.Join(path, key) }
	return Table{
		contentFlag("tls-cert-file", at("certificate"), "file with the master's own certificate and its chain"),
		secretFlag("tls-key", at("key"), "reference to the certificate's key"),
		contentFlag("tls-ca-file", at("ca"), "file with the certificate that agents and clients trust"),
		textFlag("tls-name", at("name"), "name in the certificate"),
	}
}

func poolFlags() Table {
	return Table{
		textFlag("min-agents", anyPool+"min_agents", "minimum number of agents in the compute pool"),
		textFlag("max-agents", anyPool+"max_agents", "maximum number of agents in the compute pool"),
		boolFlag("spot", anyPool+"spot", "use spot instances in the compute pool"),
		boolFlag("spot-fallback", anyPool+"fallback_to_on_demand", "fall back to on-demand instances without spot capacity"),
		textFlag("idle-period", anyPool+"idle_period", "idle time after which an agent of the compute pool is terminated"),
		textFlag("starting-period", anyPool+"starting_period", "time in which a machine of the compute pool must join"),
		boolFlag("cpu-slots", anyPool+"cpu_slots", "give machines without GPUs one slot"),
		textFlag("aux-min-agents", "aux_pool.min_agents", "minimum number of agents in the auxiliary pool"),
		textFlag("aux-max-agents", "aux_pool.max_agents", "maximum number of agents in the auxiliary pool"),
		textFlag("aux-max-tasks", "aux_pool.max_aux_tasks", "maximum tasks per agent of the auxiliary pool"),
		boolFlag("aux-spot", "aux_pool.spot", "use spot instances in the auxiliary pool"),
		textFlag("aux-idle-period", "aux_pool.idle_period", "idle time after which an agent of the auxiliary pool is terminated"),
		textFlag("default-pool", "default_pool", "default pool of tasks with slots"),
	}
}

func agentFlags() Table {
	return Table{
		contentFlag("startup-script-file", "agents.startup_script", "file with a script that runs on a machine before its agent starts"),
		contentFlag("container-startup-script-file", "agents.container_startup_script", "file with a script that runs in the agent's container"),
		textFlag("agent-reconnect-attempts", "agents.reconnect_attempts", "maximum number of an agent's attempts to reconnect"),
		textFlag("agent-reconnect-backoff", "agents.reconnect_backoff", "delay between attempts to reconnect"),
		boolFlag("shut-down-agents-on-connection-loss", "agents.shut_down_on_connection_loss", "power off machines whose agents give up reconnecting to the master"),
		textFlag("agent-docker-network", "agents.docker_network", "Docker network of tasks"),
		textFlag("agent-docker-runtime", "agents.docker_runtime", "Docker runtime of tasks"),
		documentFlag("agent-config-file", "agents.config", "file with settings of agent.yaml for all agents"),
	}
}

func taskFlags() Table {
	return Table{
		textFlag("cpu-image", "tasks.cpu_image", "image of tasks without GPUs"),
		textFlag("gpu-image", "tasks.gpu_image", "image of tasks with GPUs"),
		textFlag("registry-server", "tasks.registry.server", "image registry to sign in to"),
		textFlag("registry-user", "tasks.registry.user", "user at the registry"),
		secretFlag("registry-password", "tasks.registry.password", "reference to the password at the registry"),
		absoluteFlag("harness-wheel", "tasks.harness_wheel", "wheel of the library determined, for trials whose image lacks it"),
		textFlag("notebook-timeout", "tasks.notebook_timeout", "maximum idle time of a notebook"),
		wordFlag("scheduler-type", "scheduler.type", "priority, fair_share or round_robin", "priority", "fair_share", "round_robin"),
		boolFlag("preemption", "scheduler.preemption", "preempt tasks of lower priority for those of higher"),
		wordFlag("fitting-policy", "scheduler.fitting_policy", "fitting policy: best or worst", "best", "worst"),
	}
}
