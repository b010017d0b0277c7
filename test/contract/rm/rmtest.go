// Package rmtest is the contract of rm.ResourceManager as a test: what every resource
// manager does, whether it runs tasks on agents or as pods. It is for tests.
//
// The suite owns the tasks, and a Harness plays everything that the resource manager
// stands on: a store that outlives it, and machines that run what they are given. No
// rule depends on how long anything takes; every wait ends when its condition holds.
package rmtest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// MachineSlots is how many slots each machine of a Harness has.
const MachineSlots = 2

// DefaultPool and OtherPool are the resource pools of a Harness. The first is the default
// one of all requests.
const (
	DefaultPool = "default"
	OtherPool   = "other"
)

// Options is what a rule needs of its resource manager.
type Options struct {
	// Preemption lets a task that waits push out less important ones.
	Preemption bool
}

// Harness is one resource manager, which can be stopped and started, and its machines.
type Harness interface {
	// Start makes a resource manager on what an earlier one has stored, has it restore
	// that, calls attach with it, and runs it until Stop. It fails the test if it cannot.
	Start(attach func(rm.ResourceManager))
	// Stop ends the resource manager as a master that stops. What its machines run goes
	// on. It may be called when nothing runs.
	Stop()
	// AddMachine adds a machine of MachineSlots slots that works until the test ends. It
	// may be called before Start.
	AddMachine(pool string)
	// Deaf makes the programs of an allocation ignore SIGTERM.
	Deaf(id rm.AllocationID)
	// Finish ends the programs of an allocation, which otherwise run until they are told
	// to stop: those that run now, and those that begin later as soon as they do.
	Finish(id rm.AllocationID, code int32)
}

// Suite is the contract for one implementation.
type Suite struct {
	// New returns a harness that has not been started. It registers its own clean-up,
	// which stops it.
	New func(t *testing.T, o *Owner, opts Options) Harness
	// Edit changes every request before it is submitted; nil changes none.
	Edit func(r *rm.Request)
	// HighFirst says that high priorities are served first.
	HighFirst bool
	// Skip says of rules that an implementation cannot show why it cannot.
	Skip map[string]string
}

// rule is one promise.
type rule func(w *world)

// Run checks every rule.
func (s Suite) Run(t *testing.T) {
	rules := make(map[string]rule)
	for _, group := range []map[string]rule{lifecycleRules(), endRules(), preemptionRules(), queueRules(), restartRules(), machineRules()} {
		maps.Copy(rules, group)
	}
	for name := range s.Skip {
		if rules[name] == nil {
			t.Errorf("there is no rule %q to be skipped", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		t.Run(name, func(t *testing.T) {
			if why := s.Skip[name]; why != "" {
				t.Skip(why)
			}
			t.Parallel()
			rules[name](&world{t: t, suite: s})
		})
	}
}

// Patience bounds every wait. It is long because machines may be busy.
const Patience = 3 * time.Minute
