package gcp_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	installertest "github.com/det-deploy/det-deploy/test/contract/installer"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

// slow returns the options of a slow Google: operations and machines take long, lists lag, new
// accounts and roles take effect late, and write rates are limited.
func slow() gcptest.Options {
	return gcptest.Options{
		IgnoreFilters: true, Operation: 2 * time.Second, Provisioning: 5 * time.Second, Staging: 5 * time.Second, Stopping: 30 * time.Second,
		Lag: 3 * time.Second, NewAccount: 20 * time.Second, PolicyLag: 7 * time.Second, InUseLater: true,
		ObjectInterval: time.Second, BucketInterval: 2 * time.Second,
	}
}

func suite() installertest.Suite {
	s := installertest.Suite{
		Kill:   func(w installertest.World, n int) { w.(*gcptest.World).FailChange(w.Changes()+n, faults.KillAfter) },
		Killed: faults.ErrInjected, Each: 2, Every: faults.Whole(),
	}
	for _, l := range layouts() {
		if !rest.On() && l.name != layouts()[0].name {
			continue
		}
		on := func(o gcptest.Options) func(t *testing.T) installertest.Stage {
			return func(t *testing.T) installertest.Stage {
				t.Helper()
				made, _ := l.prepared(t, o)
				return hostedtest.Life{Stage: &made.Stage, In: made.world, Change: l.change}
			}
		}
		s.Layouts = append(s.Layouts, installertest.Layout{Name: l.name, New: on(gcptest.Options{IgnoreFilters: true}), Slow: on(slow())})
	}
	for _, f := range ways() {
		s.Faults = append(s.Faults, installertest.Fault{
			Name: string(f), At: func(w installertest.World, n int) { w.(*gcptest.World).FailAt(n, f) },
		})
	}
	return s
}

// ways returns the kinds of faults to inject. A quick run has only those that leave most behind.
func ways() []faults.Fault {
	if !rest.On() {
		return []faults.Fault{faults.LoseReply, faults.KillAfter}
	}
	return gcptest.Faults()
}

// Whichever call fails, a second run of the command finishes: nothing is missing or duplicated, and
// `down` deletes everything.
func TestResumesAfterAnyFaultAtEveryCall(t *testing.T) { suite().ResumeAfterFaults(t) }

// `down` deletes what an interrupted `up` has created, even if lists still lag.
func TestDownDeletesIncompleteCluster(t *testing.T) { suite().TakeDownHalfMade(t) }

// wantPolicy compares the role bindings of the project.
func (s *stage) wantPolicy(t *testing.T, want []string) {
	t.Helper()
	if d := cmp.Diff(s.world.Bindings("projects/"+gcptest.Project), want); d != "" {
		t.Errorf("roles in the project: got -, want +:\n%s", d)
	}
}

func TestSlowCloud(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, slow())
		s.ComesAndGoes(t, 10*time.Second)
		s.wantLeft(t)
	})
}

// Where a third of all attempts is throttled and every twentieth reply is lost, commands finish at the
// first run.
func TestFinishesWithThrottlesAndLostReplies(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
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

// A secret and its version are created by two calls, and either may be the last.
func TestSecretsWithoutAValueAreCompleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.world.FailOp("secretmanager.projects.secrets.addVersion", slices.Repeat([]faults.Fault{faults.Refuse, ""}, 4)...)
		for range 5 {
			if err := s.Up(t.Context()); err == nil {
				break
			}
		}
		s.world.Revive()
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		s.WantVersion(t)
	})
}

// Some lists omit unreachable zones. Planning then fails, because it would take existing resources
// for deleted ones.
func TestPlanFailsIfAZoneIsUnreachable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.Up(t.Context()))
		before := s.world.Live()
		s.world.Unreachable("us-central1-a")
		in, _, err := s.operator(t.Context())
		if err == nil {
			_, err = in.PlanDown(t.Context(), true)
		}
		if err == nil {
			t.Error("got a plan although a zone is unreachable")
		}
		s.world.Unreachable()
		if got := s.world.Live(); !slices.Equal(got, before) {
			t.Errorf("got %v, want the former objects", got)
		}
	})
}
