package agentrm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Config configures a resource manager for agents.
type Config struct {
	Log   *slog.Logger
	Store *store.Store
	// Gate decides which agents may connect.
	Gate Gate
	// Tasks and Logs receive the events and the log lines of allocations.
	Tasks rm.Tasks
	Logs  rm.Logs

	Pools []Pool
	// DefaultAux and DefaultCompute are the pools of requests without and with slots that name none.
	DefaultAux     string
	DefaultCompute string

	// ReservedPorts are never assigned to the programs of allocations.
	ReservedPorts []int

	// The cluster's identity, which each connecting agent receives.
	ClusterID   string
	ClusterName string
	MasterID    string
	Version     string
	// Admitted is called when the agent of a connection was admitted, with the context of its request.
	// It may be nil.
	Admitted func(ctx context.Context)
	// Programs waits for the SHA-256 of the programs that the master serves and returns them by
	// platform. It may be nil.
	Programs func() map[string]string

	// AgentConfig returns the agent.yaml of an agent that the master launched, or nil. AgentConfig may
	// be nil.
	AgentConfig func(Identity) []byte
	// Prepare returns the setup of a launched machine of a pool. It may be nil.
	Prepare func(pool string) *agentv1.Preparation
	// Unprepared is called when a launched machine could not be set up, and Noticed when the platform of
	// a machine announced something. Either may be nil, must not block, and must not call back.
	Unprepared func(id rm.AgentID, reason string)
	Noticed    func(id rm.AgentID, n Notice)
	// Room returns the machines that may still be launched for a pool. It may be nil, and must not
	// block.
	Room func(pool string) []pool.Shape
	// Machine returns the number of slots of a machine that may be launched for a pool, regardless of
	// the present number of machines. It may be nil, and must not block.
	Machine func(pool string) (slots int, found bool)
	// Decided is called after every pass with its input and decision, for the launcher of machines. It
	// may be nil, must not block, and must not call back.
	Decided func(name string, p pool.Pool, d pool.Decision)

	// Waits returns the launcher's reason why an allocation waits, or "". Describe adds the state of its
	// machines to a pool. Both may be nil, must not block, and must not call back.
	Waits    func(pool string, id rm.AllocationID) string
	Describe func(p *apiv1.ResourcePool)

	// Limits of the link; the zero value selects the default.
	Limits link.Limits
}

// Pool is one set of agents with one queue.
type Pool struct {
	Name        string
	Description string
	// MaxAux is the number of zero-slot containers that one agent may run at a time.
	MaxAux int
	// ReconnectWait is the time that the containers of a lost agent are kept.
	ReconnectWait time.Duration
	Scheduler     pool.Scheduler
	Metadata      map[string]string
	// Interface is the network interface by which containers on several machines reach each other; empty
	// selects the address that the master knows for a machine.
	Interface string
	// Limits are the settings of the policy that an agent must be able to enforce to join the pool.
	Limits []string
	// Policy is the policy for tasks of this pool, and Price the price of its slots, for display.
	Policy *apiv1.TaskPolicy
	Price  *apiv1.SlotPrice
}

// Defaults of Determined 0.38.1, which existing configuration files rely on.
const (
	// DefaultMaxAux is the default of max_aux_containers_per_agent.
	DefaultMaxAux = 100
	// DefaultReconnectWait is the default of agent_reconnect_wait: five attempts of an agent, five
	// seconds apart.
	DefaultReconnectWait = 25 * time.Second
)

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Room == nil {
		c.Room = func(string) []pool.Shape { return nil }
	}
	if c.Machine == nil {
		c.Machine = func(string) (int, bool) { return 0, false }
	}
	if c.AgentConfig == nil {
		c.AgentConfig = func(Identity) []byte { return nil }
	}
	if c.Prepare == nil {
		c.Prepare = func(string) *agentv1.Preparation { return &agentv1.Preparation{} }
	}
	if c.Unprepared == nil {
		c.Unprepared = func(rm.AgentID, string) {}
	}
	if c.Noticed == nil {
		c.Noticed = func(rm.AgentID, Notice) {}
	}
	if c.Decided == nil {
		c.Decided = func(string, pool.Pool, pool.Decision) {}
	}
	if c.Waits == nil {
		c.Waits = func(string, rm.AllocationID) string { return "" }
	}
	if c.Describe == nil {
		c.Describe = func(*apiv1.ResourcePool) {}
	}
	if c.Admitted == nil {
		c.Admitted = func(context.Context) {}
	}
	if c.Limits == (link.Limits{}) {
		c.Limits = link.DefaultLimits()
	}
	return c
}

func (c Config) checkConfig() error {
	if c.Store == nil || c.Gate == nil || c.Tasks == nil || c.Logs == nil {
		return errors.New("cannot configure agent pools: store, gate, tasks and logs are required")
	}
	var errs []error
	for i, p := range c.Pools {
		errs = append(errs, p.checkPool(fmt.Sprintf("resource_pools[%d]", i)))
		if at := slices.IndexFunc(c.Pools, func(o Pool) bool { return o.Name == p.Name }); at < i {
			errs = append(errs, fmt.Errorf("resource_pools[%d].pool_name: must be unique (%q)", i, p.Name))
		}
	}
	for key, name := range map[string]string{"default_aux_resource_pool": c.DefaultAux, "default_compute_resource_pool": c.DefaultCompute} {
		if _, found := c.findPool(name); !found {
			errs = append(errs, fmt.Errorf("%s: must be one of the resource pools (%q)", key, name))
		}
	}
	return errors.Join(errs...)
}

func (p Pool) checkPool(path string) error {
	var errs []error
	if p.Name == "" {
		errs = append(errs, fmt.Errorf("%s.pool_name: must not be empty", path))
	}
	if p.MaxAux < 0 {
		errs = append(errs, fmt.Errorf("%s.max_aux_containers_per_agent: must not be negative (%d)", path, p.MaxAux))
	}
	if p.ReconnectWait <= 0 {
		errs = append(errs, fmt.Errorf("%s.agent_reconnect_wait: must be positive (%s)", path, p.ReconnectWait))
	}
	if f := p.Scheduler.Fitting; f != pool.Best && f != pool.Worst {
		errs = append(errs, fmt.Errorf("%s.scheduler.fitting_policy: must be best or worst (%q)", path, f))
	}
	if err := checkPriority(p.Scheduler.DefaultPriority); err != nil {
		errs = append(errs, fmt.Errorf("%s.scheduler.default_priority: %w", path, err))
	}
	return errors.Join(errs...)
}

func checkPriority(n int) error {
	if n < pool.HighestPriority || n > pool.LowestPriority {
		return fmt.Errorf("must be %d to %d (%d)", pool.HighestPriority, pool.LowestPriority, n)
	}
	return nil
}

// findPool returns a pool by name.
func (c Config) findPool(name string) (Pool, bool) {
	at := slices.IndexFunc(c.Pools, func(p Pool) bool { return p.Name == name })
	if at < 0 {
		return Pool{}, false
	}
	return c.Pools[at], true
}

func (c Config) poolNames() []string {
	names := make([]string, 0, len(c.Pools))
	for _, p := range c.Pools {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}
