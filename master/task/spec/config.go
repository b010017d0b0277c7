// Package spec converts a user's task configuration into specs for agents: it decodes the configuration
// strictly, merges it over the cluster's defaults, and builds one agentv1.Spec per container. All
// functions are pure.
package spec

import (
	"path"
	"strconv"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// Config is the configuration of a command. Other kinds of tasks that run one program share it.
type Config struct {
	Description string                `yaml:"description" doc:"Name of the task and its job; three random words by default"`
	Entrypoint  Entrypoint            `yaml:"entrypoint" doc:"Command to run: one element is a shell command line, several are executed directly; empty exits with 0 immediately"`
	BindMounts  []container.BindMount `yaml:"bind_mounts" doc:"Directories of the machine to mount"`
	Environment Environment           `yaml:"environment" doc:"Image and variables"`
	Resources   Resources             `yaml:"resources" doc:"Slots and the resource pool"`
	WorkDir     string                `yaml:"work_dir" doc:"Directory in which the program starts"`
	Debug       bool                  `yaml:"debug" doc:"No effect on commands"`

	IdleTimeout      *document.Seconds `yaml:"idle_timeout" doc:"Notebooks and TensorBoards: time without use after which one is ended; notebook_timeout or tensorboard_timeout of the cluster by default"`
	NotebookIdleType IdleType          `yaml:"notebook_idle_type" doc:"Notebooks: what counts as use: kernels_or_terminals, kernel_connections or activity"`
	TensorboardArgs  []string          `yaml:"tensorboard_args" doc:"TensorBoards: arguments of the program"`
	PBS              document.Raw      `yaml:"pbs" doc:"No effect; for clusters with PBS"`
	Slurm            document.Raw      `yaml:"slurm" doc:"No effect; for clusters with Slurm"`
}

// Environment is the environment of the program.
type Environment struct {
	Image            container.Images      `yaml:"image" doc:"Image for all types of devices, or one for each"`
	Variables        container.Environment `yaml:"environment_variables" doc:"Environment variables; they take precedence over those of the cluster"`
	Ports            map[string]int        `yaml:"ports" doc:"Ports of the container to publish, by name"`
	ProxyPorts       []ProxyPort           `yaml:"proxy_ports" doc:"Ports to publish for the proxy"`
	RegistryAuth     *RegistryAuth         `yaml:"registry_auth" doc:"Credentials for the image registry; kept until the task ends"`
	ForcePullImage   *bool                 `yaml:"force_pull_image" doc:"Pull the image even if it is present"`
	AddCapabilities  []string              `yaml:"add_capabilities" doc:"Linux capabilities to add"`
	DropCapabilities []string              `yaml:"drop_capabilities" doc:"Linux capabilities to drop"`
	PodSpec          document.Raw          `yaml:"pod_spec" doc:"Kubernetes only: a pod, as JSON or YAML, over which the task's pod is merged"`
}

// AdviseKey implements document.KeyAdviser for keys of earlier releases of Determined.
func (*Environment) AdviseKey(key string) string {
	switch key {
	case "slurm":
		return "it was removed; slurm.sbatch_args replaced it, and this cluster does not run Slurm"
	case "pbs":
		return "it was removed; pbs.pbsbatch_args replaced it, and this cluster does not run PBS"
	}
	return ""
}

// ProxyPort is one port for the proxy.
type ProxyPort struct {
	Port             int  `yaml:"proxy_port" doc:"Port in the container"`
	TCP              bool `yaml:"proxy_tcp" doc:"Plain TCP instead of HTTP"`
	Unauthenticated  bool `yaml:"unauthenticated" doc:"No authentication"`
	DefaultServiceID bool `yaml:"default_service_id" doc:"Default port, reachable by the task's id"`
}

// RegistryAuth is the credentials for an image registry. The values are used literally: a reference such
// as file: is not resolved, because the master's files are not the user's.
type RegistryAuth struct {
	Username      string          `yaml:"username" doc:"Username"`
	Password      document.Secret `yaml:"password" doc:"Password"`
	Auth          document.Secret `yaml:"auth" doc:"Username and password, base64-encoded"`
	Email         string          `yaml:"email" doc:"Email address"`
	ServerAddress string          `yaml:"serveraddress" doc:"Registry address"`
	IdentityToken document.Secret `yaml:"identitytoken" doc:"Identity token"`
	RegistryToken document.Secret `yaml:"registrytoken" doc:"Registry token"`
}

// Resources are the resources requested for the program.
type Resources struct {
	Slots          *int               `yaml:"slots" doc:"Number of slots; 0 runs as an auxiliary task"`
	MaxSlots       *int               `yaml:"max_slots" doc:"Maximum number of slots of the job"`
	Priority       *int               `yaml:"priority" doc:"1 (first) to 99; the pool's default if unset"`
	Weight         float64            `yaml:"weight" doc:"Share of the pool; ignored by the priority scheduler"`
	ResourcePool   string             `yaml:"resource_pool" doc:"Resource pool; by default the one for tasks with or without slots"`
	ShmSize        *Size              `yaml:"shm_size" doc:"Shared memory, in bytes or with a unit such as 1.5g"`
	Devices        []container.Device `yaml:"devices" doc:"Devices of the machine to add, host:container:mode or an object"`
	Preemptible    bool               `yaml:"preemptible" doc:"Allow the task to be stopped and run again from its start when other tasks need the slots or its machine is lost"`
	IsSingleNode   *bool              `yaml:"is_single_node" doc:"Must not be set for commands"`
	NativeParallel bool               `yaml:"native_parallel" doc:"Must not be set; no launcher is available"`
}

// DefaultSlots is the number of slots of a command that sets none.
const DefaultSlots = 1

// DefaultWorkDir is the directory in which a program starts unless the task or the cluster sets another;
// clients and images of Determined 0.38.1 expect it.
const DefaultWorkDir = "/run/determined/workdir"

// Default returns a command's configuration before the settings of the user and the cluster.
func Default() Config {
	return Config{Resources: Resources{Weight: 1}}
}

// SetDefaults sets the defaults of omitted values in the mapping, as in Default.
func (r *Resources) SetDefaults() { r.Weight = 1 }

// The range of a task's priority, as in Determined 0.38.1.
const (
	highestPriority = 1
	lowestPriority  = 99
)

// maxDescription is longer than any list shows.
const maxDescription = 4096

// Validate returns all errors in a configuration, with or without merged defaults.
func (c Config) Validate() document.Errors {
	var e document.Errors
	e.Check(len(c.Description) <= maxDescription && naming.IsPrintable(c.Description), "description",
		"must have at most %d bytes, and %s (is %.64q)", maxDescription, naming.PrintableRule, c.Description)
	for i, b := range c.BindMounts {
		at := document.Index("bind_mounts", i)
		e = append(e, b.Validate(at)...)
		e.Check(path.Clean(b.ContainerPath) != "." || b.ContainerPath == "", document.Join(at, "container_path"), "must not be %q", ".")
	}
	e.Check(c.WorkDir == "" || path.IsAbs(c.WorkDir), "work_dir", "must be absolute (is %q)", excerpt.Of(c.WorkDir))
	e = append(e, c.Environment.Validate("environment")...)
	return append(e, c.Resources.validate("resources")...)
}

// Validate returns all errors below the path at.
func (n Environment) Validate(at string) document.Errors {
	var e document.Errors
	port := func(path string, p int) {
		e.Check(p >= 1 && p <= 65535, path, "must be between 1 and 65535 (is %d)", p)
	}
	e = append(e, checkImages(at+".image", n.Image)...)
	for name, p := range n.Ports {
		port(document.Join(at+".ports", name), p)
	}
	for i, p := range n.ProxyPorts {
		port(document.Join(document.Index(at+".proxy_ports", i), "proxy_port"), p.Port)
	}
	for _, list := range []struct {
		device string
		vars   []string
	}{{"cpu", n.Variables.CPU}, {"cuda", n.Variables.CUDA}, {"rocm", n.Variables.ROCm}} {
		for i, v := range list.vars {
			e.Check(v != "" && v[0] != '=', at+".environment_variables."+list.device+"["+strconv.Itoa(i)+"]",
				"must be NAME=value, or a name (is %q)", excerpt.Of(v))
		}
	}
	return e
}

func (r Resources) validate(at string) document.Errors {
	var e document.Errors
	slots := DefaultSlots
	if r.Slots != nil {
		slots = *r.Slots
	}
	e.Check(slots >= 0, at+".slots", "must be at least 0 (is %d)", slots)
	if r.MaxSlots != nil {
		e.Check(*r.MaxSlots >= slots, at+".max_slots", "must be at least slots (%d < %d)", *r.MaxSlots, slots)
	}
	if p := r.Priority; p != nil {
		e.Check(*p >= highestPriority && *p <= lowestPriority, at+".priority",
			"must be between %d and %d (is %d)", highestPriority, lowestPriority, *p)
	}
	e.Check(r.Weight > 0, at+".weight", "must be more than 0 (is %v)", r.Weight)
	e.Check(r.IsSingleNode == nil, at+".is_single_node", "must not be set for this kind of task")
	e.Check(!r.NativeParallel, at+".native_parallel", "is not supported: no launcher is available")
	for i, d := range r.Devices {
		e = append(e, d.Validate(document.Index(at+".devices", i))...)
	}
	return e
}
