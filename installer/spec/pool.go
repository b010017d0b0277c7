package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// The names of the default pools, the same as in Determined's own deployments.
const (
	AuxPool     = "aux-pool"
	ComputePool = "compute-pool"
)

// PoolSet holds the pools of a cluster. P embeds Pool.
type PoolSet[P interface{ base() Pool }] struct {
	AuxPool P            `yaml:"aux_pool" doc:"Machines without GPUs for tasks without slots"`
	Pools   map[string]P `yaml:"pools" doc:"Machines for tasks with slots, by pool name; by default compute-pool"`
}

// PoolNames returns the sorted names of the pools of tasks with slots.
func (s *PoolSet[P]) PoolNames() []string { return slices.Sorted(maps.Keys(s.Pools)) }

// AllPools returns all pools by name, including that of tasks without slots.
func (s *PoolSet[P]) AllPools() map[string]P {
	out := maps.Clone(s.Pools)
	if out == nil {
		out = make(map[string]P, 1)
	}
	out[AuxPool] = s.AuxPool
	return out
}

// fillDefaults adds the compute pool if no pool is given, and chooses the default pool.
func (s *PoolSet[P]) fillDefaults(defaultPool *string, compute P) {
	if len(s.Pools) == 0 {
		s.Pools = map[string]P{ComputePool: compute}
	}
	if *defaultPool == "" {
		*defaultPool = s.PoolNames()[0]
	}
}

// poolName matches names that are valid in tag values and addresses.
var poolName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// validate checks the pools' names, and calls check for each pool.
func (s *PoolSet[P]) validate(path, defaultPool string, check func(path string, p P) document.Errors) document.Errors {
	at := document.Join(path, "pools")
	e := check(document.Join(path, "aux_pool"), s.AuxPool)
	tasks := s.AuxPool.base().MaxAuxTasks
	e.Check(tasks > 0, document.Join(path, "aux_pool.max_aux_tasks"), "must be more than 0 (is %d)", tasks)
	for _, name := range s.PoolNames() {
		e.Check(poolName.MatchString(name), document.Join(at, name), "must have a name of up to 63 letters, digits, dashes and underscores")
		e.Check(name != AuxPool, document.Join(at, name), "always exists; its settings are in aux_pool")
		e = append(e, check(document.Join(at, name), s.Pools[name])...)
	}
	_, ok := s.Pools[defaultPool]
	e.Check(ok, document.Join(path, "default_pool"), "names no pool (is %q)", defaultPool)
	return e
}

// Pool is a set of machines, on any cloud, that the master launches for waiting tasks and
// terminates when they are idle.
type Pool struct {
	Description string `yaml:"description" doc:"Shown to users"`
	MinAgents   int    `yaml:"min_agents" doc:"Minimum number of machines"`
	MaxAgents   int    `yaml:"max_agents" doc:"Maximum number of machines"`

	Spot               bool `yaml:"spot" doc:"Use spot instances, which are cheaper and may be interrupted"`
	FallbackToOnDemand bool `yaml:"fallback_to_on_demand" doc:"Use on-demand instances if no spot capacity is available"`

	IdlePeriod     document.Duration `yaml:"idle_period" doc:"Idle time after which a machine is terminated"`
	StartingPeriod document.Duration `yaml:"starting_period" doc:"Time within which a machine must join"`
	CPUSlots       bool              `yaml:"cpu_slots" doc:"Give a machine without GPUs one slot"`
	MaxAuxTasks    int               `yaml:"max_aux_tasks" doc:"Maximum number of tasks without slots per machine"`

	TaskPolicy *config.TaskPolicy `yaml:"task_policy" doc:"Overrides settings of the cluster's one"`

	SlotPrice *config.SlotPrice `yaml:"slot_price" doc:"Price of the pool's slots, for the cost of experiments and projects; unknown by default"`

	LaunchErrorTimeout *document.Duration `yaml:"launch_error_timeout" doc:"How long a launch error is shown on queued tasks"`
	LaunchErrorRetries int                `yaml:"launch_error_retries" doc:"Number of consecutive launch errors before tasks fail"`

	StartupScript string `yaml:"startup_script" doc:"Script that runs on a machine before its agent starts; by default agents.startup_script"`
}

func (p Pool) base() Pool { return p }

// Describe returns the machines of a pool, their number and idle period: "0 to 5 × g5.xlarge, spot, idle for
// up to 10m".
func (p Pool) Describe(types []string) string {
	parts := []string{fmt.Sprintf("%d to %d × %s", p.MinAgents, p.MaxAgents, strings.Join(types, " or "))}
	switch {
	case p.FallbackToOnDemand:
		parts = append(parts, "spot or on demand")
	case p.Spot:
		parts = append(parts, "spot")
	}
	return strings.Join(append(parts, "idle for up to "+p.IdlePeriod.String()), ", ")
}

// describePools returns a line for each pool, by name.
func describePools[P any](pools map[string]P, describe func(P) string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		out = append(out, "pool "+name+": "+describe(pools[name]))
	}
	return out
}

// defaultPool returns the default settings.
func defaultPool() Pool {
	return Pool{
		MaxAgents: 5,
		// Long enough to keep a machine between two runs of a notebook cell, and short enough that
		// a forgotten GPU machine costs little.
		IdlePeriod:     document.Duration(10 * time.Minute),
		StartingPeriod: document.Duration(20 * time.Minute),
	}
}

func (p Pool) validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(p.MinAgents >= 0, at("min_agents"), "must be at least 0 (is %d)", p.MinAgents)
	e.Check(p.MaxAgents > 0, at("max_agents"), "must be more than 0 (is %d)", p.MaxAgents)
	e.Check(p.MaxAgents >= p.MinAgents, at("max_agents"), "must be at least min_agents (%d < %d)", p.MaxAgents, p.MinAgents)
	e.Check(!p.FallbackToOnDemand || p.Spot, at("fallback_to_on_demand"), "has no effect without spot; set spot: true")
	e.Check(p.IdlePeriod > 0, at("idle_period"), "must be more than 0 (is %v)", p.IdlePeriod)
	e.Check(p.StartingPeriod > 0, at("starting_period"), "must be more than 0 (is %v)", p.StartingPeriod)
	if p.TaskPolicy != nil {
		e = append(e, p.TaskPolicy.Validate(at("task_policy"))...)
	}
	if p.SlotPrice != nil {
		e = append(e, p.SlotPrice.Validate(at("slot_price"), p.Spot)...)
	}
	e.Check(p.MaxAuxTasks >= 0, at("max_aux_tasks"), "must be at least 0 (is %d)", p.MaxAuxTasks)
	e.Check(p.LaunchErrorTimeout == nil || *p.LaunchErrorTimeout >= 0, at("launch_error_timeout"), "must be at least 0")
	e.Check(p.LaunchErrorRetries >= 0, at("launch_error_retries"), "must be at least 0 (is %d)", p.LaunchErrorRetries)
	return e
}

// Agents are the settings common to the machines of all pools.
type Agents struct {
	StartupScript            string           `yaml:"startup_script" doc:"Script that runs on a machine before its agent starts; it is stored with the cluster's configuration and must not contain secrets"`
	ContainerStartupScript   string           `yaml:"container_startup_script" doc:"Script that runs in the agent's container before the agent starts"`
	ReconnectAttempts        int              `yaml:"reconnect_attempts" doc:"Number of attempts to reconnect before an agent gives up"`
	ReconnectBackoff         document.Seconds `yaml:"reconnect_backoff" doc:"Pause between these attempts"`
	ShutDownOnConnectionLoss bool             `yaml:"shut_down_on_connection_loss" doc:"Power off a machine when its agent gives up reconnecting"`
	DockerNetwork            string           `yaml:"docker_network" doc:"Docker network of tasks"`
	DockerRuntime            string           `yaml:"docker_runtime" doc:"Docker runtime of tasks"`
	Config                   document.Raw     `yaml:"config" doc:"Settings of agent.yaml, such as hooks"`
}

// defaultAgents returns the default settings.
func defaultAgents() Agents {
	return Agents{
		ReconnectBackoff: document.Seconds(10 * time.Second),
		// Ten minutes, so that agents outlast an upgrade of the master.
		ReconnectAttempts:        60,
		ShutDownOnConnectionLoss: true,
		DockerNetwork:            "default", DockerRuntime: "runc",
	}
}

func (a Agents) validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(a.ReconnectAttempts > 0, at("reconnect_attempts"), "must be more than 0 (is %d)", a.ReconnectAttempts)
	e.Check(a.ReconnectBackoff > 0, at("reconnect_backoff"), "must be more than 0 (is %v)", a.ReconnectBackoff)
	return append(e, a.Config.Check(at("config"), checkObject)...)
}
