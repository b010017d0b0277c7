package config

import "github.com/det-deploy/det-deploy/internal/document"

// The fitting policies.
const (
	FitBest  = "best"
	FitWorst = "worst"
)

// Scheduler configures how queued tasks are selected and placed.
type Scheduler struct {
	Priority   *PriorityScheduler
	FairShare  *FairShareScheduler
	RoundRobin *RoundRobinScheduler
}

// Variants returns the policies.
func (s *Scheduler) Variants() []document.Variant {
	return []document.Variant{
		{Type: "priority", Field: &s.Priority, Default: true},
		{Type: "fair_share", Field: &s.FairShare},
		{Type: "round_robin", Field: &s.RoundRobin},
	}
}

// Fitting configures how a task is placed on agents.
type Fitting struct {
	Policy                 string `yaml:"fitting_policy" doc:"best packs agents, worst spreads tasks over agents"`
	AllowHeterogeneousFits bool   `yaml:"allow_heterogeneous_fits" doc:"Allow one task to use agents of different sizes"`
}

// PriorityScheduler starts tasks by priority, 1 first.
type PriorityScheduler struct {
	Fitting         `yaml:",inline"`
	Preemption      bool `yaml:"preemption" doc:"Preempt tasks of lower priority for those of higher"`
	DefaultPriority int  `yaml:"default_priority" doc:"Default priority of tasks, 1 to 99"`
}

// FairShareScheduler is accepted and treated as priority with equal priorities.
type FairShareScheduler struct {
	Fitting `yaml:",inline"`
}

// RoundRobinScheduler is accepted and treated as priority with equal priorities.
type RoundRobinScheduler struct {
	Fitting `yaml:",inline"`
}

// DefaultScheduler returns priority without preemption.
func DefaultScheduler() Scheduler {
	p := DefaultPriorityScheduler()
	return Scheduler{Priority: &p}
}

// DefaultPriorityScheduler returns the defaults of Determined 0.38.1.
func DefaultPriorityScheduler() PriorityScheduler {
	return PriorityScheduler{Fitting: Fitting{Policy: FitBest}, DefaultPriority: 42}
}

// SetDefaults sets p to the defaults.
func (p *PriorityScheduler) SetDefaults() { *p = DefaultPriorityScheduler() }

// SetDefaults sets f to the defaults.
func (f *FairShareScheduler) SetDefaults() { *f = FairShareScheduler{Fitting{Policy: FitBest}} }

// SetDefaults sets r to the defaults.
func (r *RoundRobinScheduler) SetDefaults() { *r = RoundRobinScheduler{Fitting{Policy: FitBest}} }

// Effective returns the policy that applies: the configured one, or for fair_share and round_robin
// the default priority for every task.
func (s Scheduler) Effective() PriorityScheduler {
	p := DefaultPriorityScheduler()
	switch {
	case s.Priority != nil:
		return *s.Priority
	case s.FairShare != nil:
		p.Fitting = s.FairShare.Fitting
	case s.RoundRobin != nil:
		p.Fitting = s.RoundRobin.Fitting
	}
	return p
}

// Heterogeneous reports whether one task may use agents of different sizes, for any policy.
func (s Scheduler) Heterogeneous() bool {
	return s.Priority != nil && s.Priority.AllowHeterogeneousFits ||
		s.FairShare != nil && s.FairShare.AllowHeterogeneousFits ||
		s.RoundRobin != nil && s.RoundRobin.AllowHeterogeneousFits
}

// Validate checks the numbers.
func (s Scheduler) Validate(path string) document.Errors {
	p := s.Effective()
	e := document.OneOf(document.Join(path, "fitting_policy"), p.Policy, []string{FitBest, FitWorst})
	e.Check(p.DefaultPriority >= 1 && p.DefaultPriority <= 99, document.Join(path, "default_priority"),
		"must be between 1 and 99 (is %d)", p.DefaultPriority)
	return e
}
