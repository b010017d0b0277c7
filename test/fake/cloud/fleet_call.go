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

// The calls. Launch, terminate and sweep change something.
const (
	OpLaunch    Op = "launch"
	OpTerminate Op = "terminate"
	OpList      Op = "list"
	OpConsole   Op = "console"
	OpSweep     Op = "sweep"
)

// Call is one line of a Fleet's journal.
type Call struct {
	At     time.Time
	Op     Op
	Pool   string
	Launch cloud.Launch
	// IDs are the machines that were granted, named or listed, whether or not
	// the caller got to know.
	IDs []cloud.InstanceID
	// Err is what the caller was told.
	Err error
}

// Calls is the journal: every call in the order in which it came.
func (f *Fleet) Calls(of ...Op) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.calls)
	return slices.DeleteFunc(out, func(c Call) bool { return len(of) > 0 && !slices.Contains(of, c.Op) })
}

// Refuse has the next n launches of an offer refused with a kind; empty parts of
// the offer match anything, and a negative n is until Allow.
func (f *Fleet) Refuse(o cloud.Offer, k cloud.Kind, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = append(f.refusals, &refusal{o, k, n})
}

// Allow ends every refusal.
func (f *Fleet) Allow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = nil
}

// refused is the kind with which a launch is refused, empty for none.
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

// FailAt has the n-th changing call from now, counted from 1, fail.
func (f *Fleet) FailAt(n int, fault faults.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schedule.FailChange(f.schedule.Changes+n, fault)
}

// Revive lets a new process make calls, without faults.
func (f *Fleet) Revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schedule.Revive()
}

// call runs one call of the platform's, and has it fail where a test wants that.
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
	return carry(&f.schedule, "fleet:"+string(c.Op), changes, func() error { return act(c) })
}
