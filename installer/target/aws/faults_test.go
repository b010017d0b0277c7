package aws_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	installertest "github.com/det-deploy/det-deploy/test/contract/installer"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	"github.com/det-deploy/det-deploy/test/rest"
)

func suite() installertest.Suite {
	s := installertest.Suite{
		Kill:   func(w installertest.World, n int) { w.(*awstest.World).FailChange(n, faults.KillAfter) },
		Killed: faults.ErrInjected, Each: 2, Every: faults.Whole(),
	}
	for _, l := range layouts() {
		if !rest.On() && l.name != layouts()[0].name {
			continue
		}
		on := func(o awstest.Options) func(t *testing.T) installertest.Stage {
			return func(t *testing.T) installertest.Stage {
				t.Helper()
				made, _ := l.prepared(t, inMemory(o))
				return hostedtest.Life{Stage: &made.Stage, In: made.world, Change: l.change, Whole: made.wantTwoPasswords}
			}
		}
		s.Layouts = append(s.Layouts, installertest.Layout{
			Name: l.name, New: on(awstest.Options{}),
			Slow: on(awstest.Options{Lag: 3 * time.Second, Linger: 20 * time.Second, Boot: 10 * time.Second, Shutdown: 30 * time.Second}),
		})
	}
	for _, f := range ways() {
		s.Faults = append(s.Faults, installertest.Fault{
			Name: string(f), At: func(w installertest.World, n int) { w.(*awstest.World).FailAt(n, f) },
		})
	}
	return s
}

// ways returns the kinds of faults to inject. A quick run has only those that leave most behind.
func ways() []faults.Fault {
	if !rest.On() {
		return []faults.Fault{faults.LoseReply, faults.KillAfter}
	}
	return faults.All()
}

// Whichever call fails, a second run of the command finishes: nothing is missing or duplicated, and
// `down` deletes everything.
func TestResumesAfterAnyFaultAtEveryCall(t *testing.T) { suite().ResumeAfterFaults(t) }

// `down` deletes what an interrupted `up` has created, even if lists still lag.
func TestDownDeletesIncompleteCluster(t *testing.T) { suite().TakeDownHalfMade(t) }

// `status` needs no programs and shows what does not exist yet as missing.
func TestStatusShowsIncompleteCluster(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		s.world.FailChange(12, faults.KillAfter) // after the record and six concurrent changes
		if err := s.Up(t.Context()); !errors.Is(err, faults.ErrInjected) {
			t.Fatalf("got %v, want the injected failure", err)
		}
		s.Resume(s.world)
		s.Programs = nil
		in, _, err := s.operator(t.Context())
		must(t, err)
		state, p, err := in.Status(t.Context())
		if err != nil || state != installer.Degraded || p.Count(plan.Create) == 0 {
			t.Errorf("got %s with %s and %v, want that something is missing", state, p.Summary(), err)
		}
	})
}

// A slow AWS: lists lag, new objects are not visible yet, and machines and their interfaces take
// long.
func TestSlowCloud(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{
			Boot: 40 * time.Second, Shutdown: 90 * time.Second, Linger: 60 * time.Second, Lag: 5 * time.Second, Shy: 2, FreshProfile: 3, Disk: 45 * time.Second, Reuse: 60 * time.Second,
		}))
		s.ComesAndGoes(t, 10*time.Second)
		s.wantLeft(t)
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
		for _, in := range operators { // who confirmed the same plan
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

// Where a third of all attempts is throttled and every twentieth reply is lost, commands finish at the
// first run.
func TestFinishesWithThrottlesAndLostReplies(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{}))
				s.world.Storm(seed, 0.3, 0.05)
				must(t, s.Up(t.Context()))
				s.WantNothingToDo(t)
				_, err := s.Down(t.Context(), true)
				must(t, err)
				s.wantLeft(t)
			})
		})
	}
}

// A removal that was killed is continued without waiting for the objects that it has deleted.
func TestContinuedDownDoesNotWaitForDeletedObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		s.world.FailChange(s.world.Changes()+12, faults.KillAfter)
		if _, err := s.Down(t.Context(), true); !errors.Is(err, faults.ErrInjected) {
			t.Fatalf("got %v, want the injected failure", err)
		}
		s.Resume(s.world)
		in, _, err := s.operator(t.Context())
		must(t, err)
		start := time.Now()
		p, err := in.PlanDown(t.Context(), true)
		must(t, err)
		if took := time.Since(start); took > time.Second || p.Count(plan.Delete) == 0 {
			t.Errorf("got a plan with %s after %s, want one at once", p.Summary(), took)
		}
	})
}
