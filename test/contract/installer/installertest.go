// Package installertest tests the life of a cluster in any cloud: whichever call fails, and
// however, the same command succeeds when it is repeated, nothing is missing or duplicated, and
// down leaves nothing.
package installertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// World is a cloud in memory with injected failures.
type World interface {
	// Calls and Changes count the calls, and those that changed something.
	Calls() int
	Changes() int
	// Revive accepts calls again after a process was killed.
	Revive()
	// Live returns all existing resources.
	Live() []string
}

// Stage is a cluster that a user operates. Each command is a new process.
type Stage interface {
	World() World
	Up(ctx context.Context) error
	// Update changes the settings and Upgrade the version; both apply the change.
	Update(ctx context.Context) error
	Upgrade(ctx context.Context) error
	// Down deletes the cluster with its data.
	Down(ctx context.Context) error
	// Resume lets the next process start immediately, without waiting for the lease of the killed
	// one: then lists lag most.
	Resume()
	// WantWhole reports an error unless the cluster is as the last command requested it.
	WantWhole(t *testing.T)
}

// Layout is one way to place a cluster in an account.
type Layout struct {
	Name string
	// New creates the user's resources in a cloud without faults.
	New func(t *testing.T) Stage
	// Slow creates them in a cloud whose lists lag and whose machines start slowly.
	Slow func(t *testing.T) Stage
}

// Fault is one way in which a call fails.
type Fault struct {
	Name string
	// At injects the fault into call number n of a world.
	At func(w World, n int)
}

// Suite tests layouts with faults.
type Suite struct {
	Layouts []Layout
	Faults  []Fault
	// Kill ends the process after change number n of a world, and Killed is the error that its
	// command then returns.
	Kill   func(w World, n int)
	Killed error
	// Each is the number of cases for each fault in each flow, over all layouts.
	Each int
	// Every makes every call of each flow fail in each way in each layout instead, which takes
	// hours.
	Every bool
}

// flow is a command and its precondition.
type flow struct {
	name        string
	before, run func(Stage, context.Context) error
	// gone is true if no resource may exist afterwards.
	gone bool
}

func flows() []flow {
	return []flow{
		{"upgrade", Stage.Up, Stage.Upgrade, false},
		{"up", func(Stage, context.Context) error { return nil }, Stage.Up, false},
		{"update", Stage.Up, Stage.Update, false},
		{"down", Stage.Up, Stage.Down, true},
	}
}

// ResumeAfterFaults fails calls of each flow in each way and expects the repeated command to
// succeed.
func (s Suite) ResumeAfterFaults(t *testing.T) {
	t.Parallel()
	for j, f := range flows() {
		all := make([]int, len(s.Layouts))
		for i, l := range s.Layouts {
			all[i], _ = f.count(t, l)
			t.Logf("%s: %s: %d calls", l.Name, f.name, all[i])
		}
		for _, c := range s.cases(j, all) {
			l, fault := s.Layouts[c.layout], s.Faults[c.fault]
			t.Run(fmt.Sprintf("%s: %s: %s at call %d", l.Name, f.name, fault.Name, c.call), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { f.fail(t, l, fault, c.call) })
			})
		}
	}
}

// failure is a failing call: the indexes of its layout and fault, and its number from 1.
type failure struct{ layout, fault, call int }

// cases returns the failures for a flow, given the number of its calls in each layout. A sample is
// spread over the calls from the first to the last, and over the layouts.
func (s Suite) cases(flow int, calls []int) (out []failure) {
	if !s.Every {
		n := s.Each * len(s.Faults)
		for k := range n {
			at := (k + flow) % len(calls)
			fault := (k + 3*flow) % len(s.Faults) // a different one in each flow
			out = append(out, failure{at, fault, 1 + k*(calls[at]-1)/max(n-1, 1)})
		}
		return out
	}
	for l, all := range calls {
		for fault := range s.Faults {
			for call := 1; call <= all; call++ {
				out = append(out, failure{l, fault, call})
			}
		}
	}
	return out
}

// count returns the number of calls and of changes of a flow in a world without faults.
func (f flow) count(t *testing.T, l Layout) (all, changes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := l.New(t)
		must(t, f.before(s, t.Context()))
		all, changes = s.World().Calls(), s.World().Changes()
		must(t, f.run(s, t.Context()))
		all, changes = s.World().Calls()-all, s.World().Changes()-changes
	})
	return all, changes
}

func (f flow) fail(t *testing.T, l Layout, fault Fault, n int) {
	s := l.New(t)
	before := s.World().Live()
	must(t, f.before(s, t.Context()))
	fault.At(s.World(), s.World().Calls()+n)
	first := f.run(s, t.Context())
	s.Resume()
	if err := f.run(s, t.Context()); err != nil {
		t.Fatalf("the same command again: %v (the first time: %v)", err, first)
	}
	if !f.gone {
		s.WantWhole(t)
	}
	must(t, s.Down(t.Context()))
	wantLeft(t, s, before)
}

// TakeDownHalfMade kills up after each change, or after a sample of them, and runs down
// immediately, without another up and while the lists still lag.
func (s Suite) TakeDownHalfMade(t *testing.T) {
	t.Parallel()
	l := s.Layouts[0]
	_, changes := flow{"up", func(Stage, context.Context) error { return nil }, Stage.Up, false}.count(t, l)
	for n := 1; n <= changes; n += s.stride() {
		t.Run(fmt.Sprintf("killed after change %d", n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stage := l.Slow(t)
				before := stage.World().Live()
				s.Kill(stage.World(), n)
				if err := stage.Up(t.Context()); !errors.Is(err, s.Killed) {
					t.Fatalf("got %v, want the injected failure", err)
				}
				stage.Resume()
				must(t, stage.Down(t.Context()))
				wantLeft(t, stage, before)
			})
		})
	}
}

// stride returns the distance between the changes after which a process is killed.
func (s Suite) stride() int {
	if s.Every {
		return 1
	}
	return 5
}

func wantLeft(t *testing.T, s Stage, want []string) {
	t.Helper()
	got := s.World().Live()
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("got left %v, want %v", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
