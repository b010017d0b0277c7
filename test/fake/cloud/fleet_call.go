package cloudtest

import (
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Op is a call on a Fleet.
type Op string

// The calls. Launch, terminate and sweep are modifying calls.
const (
	OpLaunch    Op = "launch"
	OpTerminate Op = "terminate"
	OpList      Op = "list"
	OpConsole   Op = "console"
	OpSweep     Op = "sweep"
)

// Call is an entry in the journal of a Fleet.
type Call struct {
	At     time.Time
	Op     Op
	Pool   string
	Launch cloud.Launch
	// IDs are the machines that were launched, named or listed, even if the caller did not receive
	// the response.
	IDs []cloud.InstanceID
	// Err is the error returned to the caller.
	Err error
}

// Calls returns the journal: all calls in order, restricted to some operations if any are given.
func (f *Fleet) Calls(of ...Op) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.calls)
	return slices.DeleteFunc(out, func(c Call) bool { return len(of) > 0 && !slices.Contains(of, c.Op) })
}

// Refuse makes the next n launches of an offer fail with a kind. Empty fields of the offer match
// anything. A negative n applies until Allow.
func (f *Fleet) Refuse(o cloud.Offer, k cloud.Kind, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = append(f.refusals, &refusal{o, k, n})
}

// Allow reverts all calls of Refuse.
func (f *Fleet) Allow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = nil
}

// refused returns the kind with which a launch fails, or "".
func (f *Fleet) refused(o cloud.Offer) cloud.Kind {
	for _, r := range f.refusals {
		if r.left != 0 && r.matches(o) {
			r.left--
			return r.kind
		}
	}
	return ""
}

func (r *refusal) matches(o cloud.Offer) bool {
	w := r.offer
	return (w.Type == "" || w.Type == o.Type) && (w.Zone == "" || w.Zone == o.Zone) && (w.Price == "" || w.Price == o.Price)
}

// FailAt injects a fault into the n-th modifying call from now, counted from 1.
func (f *Fleet) FailAt(n int, fault faults.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schedule.FailChange(f.schedule.Changes+n, fault)
}

// Revive simulates a new process, without faults.
func (f *Fleet) Revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schedule.Revive()
}

// call makes one call, or injects the scheduled fault.
func (f *Fleet) call(ctx context.Context, c Call, act func(*Call) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.At = f.time()
	c.Err = f.fail(ctx, &c, act)
	f.calls = append(f.calls, c)
	return c.Err
}

func (f *Fleet) fail(ctx context.Context, c *Call, act func(*Call) error) error {
	if err := ctx.Err(); err != nil && !f.schedule.Dead {
		return err
	}
	changes := c.Op == OpLaunch || c.Op == OpTerminate || c.Op == OpSweep
	return performCall(&f.schedule, "fleet:"+string(c.Op), changes, func() error { return act(c) })
}
