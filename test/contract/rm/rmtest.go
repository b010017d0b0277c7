// Package rmtest contains the contract test of rm.ResourceManager: the behavior of every resource
// manager, whether it runs tasks on agents or as pods. Only tests may import it.
//
// The suite owns the tasks, and a Harness provides the environment of the resource manager: a store
// that outlives it, and machines that run its tasks. No rule depends on durations; every wait ends
// when its condition is met.
package rmtest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// MachineSlots is the number of slots of each machine of a Harness.
const MachineSlots = 2

// DefaultPool and OtherPool are the resource pools of a Harness. Requests use the first by default.
const (
	DefaultPool = "default"
	OtherPool   = "other"
)

// Options are the requirements of a rule on its resource manager.
type Options struct {
	// Preemption lets a queued task preempt less important ones.
	Preemption bool
}

// Harness is one resource manager, which can be stopped and started, with its machines.
type Harness interface {
	// Start creates a resource manager on the state of an earlier one, restores it, calls attach
	// with it, and runs it until Stop. It fails the test on an error.
	Start(attach func(rm.ResourceManager))
	// Stop ends the resource manager like a master that stops. Its machines keep running their
	// tasks. It may be called when no manager runs.
	Stop()
	// AddMachine adds a machine of MachineSlots slots that works until the test ends. It may be
	// called before Start.
	AddMachine(pool string)
	// Deaf makes the programs of an allocation ignore SIGTERM.
	Deaf(id rm.AllocationID)
	// Finish ends the programs of an allocation, which otherwise run until they are stopped:
	// running ones now, and later ones as soon as they start.
	Finish(id rm.AllocationID, code int32)
}

// Suite is the contract for one implementation.
type Suite struct {
	// New returns a harness that has not been started. It registers its clean-up, which stops it.
	New func(t *testing.T, o *Owner, opts Options) Harness
	// Edit changes every request before it is submitted; nil changes none.
	Edit func(r *rm.Request)
	// HighFirst means that high priorities are served first.
	HighFirst bool
	// Skip has the reason for each rule that an implementation cannot show.
	Skip map[string]string
}

// rule checks one rule of the contract.
type rule func(w *world)

// Run checks every rule in a subtest.
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

// Patience limits every wait. It is long because machines may be busy.
const Patience = 3 * time.Minute
