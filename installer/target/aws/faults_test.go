package aws_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/awstest"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// flow is a command, and what has to be there before it.
type flow struct {
	name string
	// before and run are what a user types.
	before, run func(*stage, context.Context) error
	// gone is true when nothing is wanted afterwards.
	gone bool
}

func flows(l layout) []flow {
	update := func(s *stage, ctx context.Context) error {
		s.set(l.change...)
		return s.up(ctx)
	}
	down := func(s *stage, ctx context.Context) error {
		_, err := s.down(ctx, true)
		return err
	}
	upgrade := func(s *stage, ctx context.Context) error {
		s.version, s.programs = "v1.1.0", programs("another")
		return s.upgrade(ctx)
	}
	return []flow{
		{"upgrade", (*stage).up, upgrade, false},
		{"up", func(*stage, context.Context) error { return nil }, (*stage).up, false},
		{"update", (*stage).up, update, false},
		{"down", (*stage).up, down, true},
	}
}

// resume lets the next process go on at once, without waiting for the lease of the
// one who was killed: that is when lists lag most.
func (s *stage) resume() {
	s.world.Revive()
	s.dead = func(record.Holder) bool { return true }
}

// calls counts the calls of a flow in a world without faults.
func calls(t *testing.T, l layout, f flow) (all, changes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, _ := l.prepared(t, inMemory(awstest.Options{}))
		must(t, f.before(s, t.Context()))
		all, changes = s.world.Calls(), s.world.Changes()
		must(t, f.run(s, t.Context()))
		all, changes = s.world.Calls()-all, s.world.Changes()-changes
	})
	return all, changes
}

// Whatever call fails, and however, the same command finishes: nothing is missing,
// nothing is there twice, and down leaves nothing.
func TestResumesAfterAnyFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, l := range layouts() {
		if testing.Short() && l.name != layouts()[0].name {
			continue
		}
		for _, f := range flows(l) {
			all, _ := calls(t, l, f)
			t.Logf("%s: %s: %d calls", l.name, f.name, all)
			for _, fault := range awstest.Faults() {
				for n := first(fault, l, f); n <= all; n += stride() {
					t.Run(fmt.Sprintf("%s: %s: %s at call %d", l.name, f.name, fault, n), func(t *testing.T) {
						bubble(t, func(t *testing.T) { fails(t, l, f, fault, n) })
					})
				}
			}
		}
	}
}

// stride is how many calls lie between two that fail. A sample is another one at
// each fault and flow.
func stride() int {
	if testing.Short() {
		return awstest.Stride(499)
	}
	return awstest.Stride(101)
}

func first(fault awstest.Fault, l layout, f flow) int {
	return 1 + (len(fault)*31+len(l.name)*7+len(f.name)*13)%stride()
}

func fails(t *testing.T, l layout, f flow, fault awstest.Fault, n int) {
	s, before := l.prepared(t, inMemory(awstest.Options{}))
	must(t, f.before(s, t.Context()))
	s.world.FailAt(s.world.Calls()+n, fault)
	first := f.run(s, t.Context())
	s.resume()
	if err := f.run(s, t.Context()); err != nil {
		t.Fatalf("the same command again: %v (the first time: %v)", err, first)
	}
	if !f.gone {
		s.wantNothingToDo(t)
		s.wantVersion(t)
		s.wantTwoPasswords(t)
	}
	if _, err := s.down(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	s.wantLeft(t, before...)
}

// An up that was killed anywhere is taken down at once, without another up and
// while the lists still lag.
func TestDownTakesAHalfMadeCluster(t *testing.T) {
	t.Parallel()
	l := layouts()[0]
	_, changes := calls(t, l, flows(l)[0])
	for n := 1; n <= changes; n += min(stride(), 5) {
		t.Run(fmt.Sprintf("killed after change %d", n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{Lag: 3 * time.Second, Linger: 20 * time.Second, Boot: 10 * time.Second, Shutdown: 30 * time.Second}))
				s.world.FailChange(n, awstest.KillAfter)
				if err := s.up(t.Context()); !errors.Is(err, awstest.ErrInjected) {
					t.Fatalf("got %v, want the injected failure", err)
				}
				s.resume()
				_, err := s.down(t.Context(), true)
				must(t, err)
				s.wantLeft(t)
			})
		})
	}
}

// Looking needs no programs: what is not there yet is shown as missing.
func TestAHalfMadeClusterIsShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		s.world.FailChange(12, awstest.KillAfter) // behind the record and six of what is made side by side
		if err := s.up(t.Context()); !errors.Is(err, awstest.ErrInjected) {
			t.Fatalf("got %v, want the injected failure", err)
		}
		s.resume()
		s.programs = nil
		in, _, err := s.operator(t.Context())
		must(t, err)
		state, p, err := in.Status(t.Context())
		if err != nil || state != installer.Degraded || p.Count(plan.Create) == 0 {
			t.Errorf("got %s with %s and %v, want that something is missing", state, p.Summary(), err)
		}
	})
}

// Amazon as it is on a bad day: lists lag, new things are not known yet, machines
// take their time and their interfaces longer.
func TestASlowCloud(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{
			Boot: 40 * time.Second, Shutdown: 90 * time.Second, Linger: 60 * time.Second, Lag: 5 * time.Second, Shy: 2, FreshProfile: 3, Disk: 45 * time.Second, Reuse: 60 * time.Second,
		}))
		must(t, s.up(t.Context()))
		time.Sleep(10 * time.Second) //nolint:forbidigo // the bubble's clock
		s.wantNothingToDo(t)
		r, err := s.down(t.Context(), true)
		must(t, err)
		s.wantLeft(t)
		if len(r.Left) > 0 {
			t.Errorf("got left %v", r.Left)
		}
	})
}

func TestTwoOperatorsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		var operators []*installer.Installer
		for _, who := range []string{"ann", "bob"} {
			in, _, err := s.operator(t.Context())
			must(t, err)
			in.Holder.Owner, in.Holder.Nonce = who, who
			operators = append(operators, in)
		}
		p, err := operators[0].Plan(t.Context())
		must(t, err)
		outcomes := make(chan error, 2)
		for _, in := range operators { // who agreed to the same plan
			go func() { outcomes <- in.Up(t.Context(), p) }()
		}
		won := 0
		for range 2 {
			err := <-outcomes
			_, held := errors.AsType[*record.HeldError](err)
			switch {
			case err == nil:
				won++
			case !held && !errors.Is(err, installer.ErrPlanChanged):
				t.Errorf("got %v, want that the other is at work, or was", err)
			}
		}
		if won != 1 {
			t.Errorf("got %d that went through, want 1", won)
		}
	})
}
