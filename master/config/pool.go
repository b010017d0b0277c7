package config

import (
	"math"
	"regexp"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// Pool is a group of identical agents.
type Pool struct {
	Name                     string              `yaml:"pool_name" doc:"Name of the pool"`
	Description              string              `yaml:"description" doc:"Shown to users"`
	MaxAuxContainersPerAgent int                 `yaml:"max_aux_containers_per_agent" doc:"Maximum number of tasks without slots per agent; 0 for none"`
	AgentReconnectWait       document.Duration   `yaml:"agent_reconnect_wait" doc:"How long the tasks of a disconnected agent are kept"`
	AgentReattachEnabled     *bool               `yaml:"agent_reattach_enabled" doc:"No effect: agents always reattach"`
	Scheduler                *Scheduler          `yaml:"scheduler" doc:"Replaces the resource manager's scheduler as a whole"`
	Autoscaled               bool                `yaml:"autoscaled" doc:"Kubernetes only: nodes are added for unschedulable pods, so tasks that do not fit are passed to the scheduler, a few at a time"`
	TaskContainerDefaults    *container.Defaults `yaml:"task_container_defaults" doc:"Overrides settings of the global one"`
	TaskPolicy               *TaskPolicy         `yaml:"task_policy" doc:"Overrides settings of the global one"`
	SlotPrice                *SlotPrice          `yaml:"slot_price" doc:"Price of the pool's slots, for the cost of experiments and projects; unknown by default"`
	Provider                 *provider.Provider  `yaml:"provider" doc:"Provider that launches agents; without one, agents join by themselves"`
}

// DefaultPool returns the default settings of a pool.
func DefaultPool(name string) Pool {
	return Pool{
		Name:                     name,
		MaxAuxContainersPerAgent: 100,
		// Five attempts of five seconds, the default of agents.
		AgentReconnectWait: document.Duration(25 * time.Second),
	}
}

// SetDefaults sets p to the defaults, without a name.
func (p *Pool) SetDefaults() { *p = DefaultPool("") }

var _ document.KeyAdviser = (*Pool)(nil)

// AdviseKey implements document.KeyAdviser for keys that belong to the pool's provider.
func (p *Pool) AdviseKey(key string) string { return provider.AdviseKey(key) }

// EffectiveScheduler returns the pool's own scheduler, or that of its resource manager.
func (p Pool) EffectiveScheduler(rm AgentRM) PriorityScheduler {
	if p.Scheduler != nil {
		return p.Scheduler.Effective()
	}
	return rm.Scheduler.Effective()
}

// EffectiveTaskContainer returns the container defaults of the pool's tasks.
func (p Pool) EffectiveTaskContainer(global container.Defaults) container.Defaults {
	if p.TaskContainerDefaults == nil {
		return global
	}
	return global.Overlay(*p.TaskContainerDefaults)
}

// Validate checks the pool by itself; Master.Validate compares names.
func (p Pool) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(p.Name != "", at("pool_name"), "is required")
	e.Check(naming.IsPrintable(p.Name), at("pool_name"), "must %s (is %q)", naming.PrintableRule, p.Name)
	e.Check(!naming.IsDots(p.Name), at("pool_name"), "must %s (is %q)", naming.DotsRule, p.Name)
	e.Check(p.MaxAuxContainersPerAgent >= 0, at("max_aux_containers_per_agent"), "must be at least 0 (is %d)", p.MaxAuxContainersPerAgent)
	if p.Scheduler != nil {
		e = append(e, p.Scheduler.Validate(at("scheduler"))...)
	}
	if p.TaskContainerDefaults != nil {
		e = append(e, p.TaskContainerDefaults.Validate(at("task_container_defaults"))...)
	}
	if p.TaskPolicy != nil {
		e = append(e, p.TaskPolicy.Validate(at("task_policy"))...)
	}
	if p.SlotPrice != nil {
		e = append(e, p.SlotPrice.Validate(at("slot_price"), launchesSpot(p.Provider))...)
	}
	if p.Provider != nil {
		e = append(e, p.Provider.Validate(at("provider"))...)
	}
	return e
}

// SlotPrice is the price of a pool's slots as configured by the administrator. No cloud is queried.
type SlotPrice struct {
	PerHour     float64  `yaml:"per_hour" doc:"Price of one slot per hour: the price of a machine divided by its slots"`
	SpotPerHour *float64 `yaml:"spot_per_hour" doc:"The same on a spot machine; by default per_hour"`
	Currency    string   `yaml:"currency" doc:"Currency of both, as an ISO 4217 code"`
}

// SetDefaults sets the currency to US dollars.
func (p *SlotPrice) SetDefaults() { *p = SlotPrice{Currency: "USD"} }

// On returns the hourly price of a slot on a spot machine or another one.
func (p SlotPrice) On(spot bool) float64 {
	if spot && p.SpotPerHour != nil {
		return *p.SpotPerHour
	}
	return p.PerHour
}

var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

// Validate checks the price; spot reports whether the pool may use spot machines.
func (p SlotPrice) Validate(path string, spot bool) document.Errors {
	var e document.Errors
	check := func(key string, x float64) {
		e.Check(x > 0 && !math.IsInf(x, 0), document.Join(path, key), "must be more than 0 (is %v)", x)
	}
	check("per_hour", p.PerHour)
	if p.SpotPerHour != nil {
		check("spot_per_hour", *p.SpotPerHour)
		e.Check(spot, document.Join(path, "spot_per_hour"), "has no effect without spot machines; remove it, or set spot of the pool")
	}
	e.Check(currencyForm.MatchString(p.Currency), document.Join(path, "currency"), "must be three capital letters such as USD (is %q)", p.Currency)
	return e
}

// launchesSpot reports whether a pool's provider may launch spot machines.
func launchesSpot(p *provider.Provider) bool {
	return p != nil && (p.AWS != nil && p.AWS.Spot.Enabled || p.GCP != nil && p.GCP.IsSpot())
}
