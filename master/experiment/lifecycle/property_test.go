package lifecycle

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTransitionsFollowTables applies random requests and ends of runs to an experiment with trials.
func TestTransitionsFollowTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world{x: rapid.SampledFrom([]State{Active, Paused}).Draw(t, "x"), restarts: rapid.IntRange(0, 3).Draw(t, "restarts")}
		for range rapid.IntRange(1, 5).Draw(t, "trials") {
			w.trials = append(w.trials, NewTrial(w.x, ""))
		}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			w.step(t)
		}
		w.end(t)
	})
}

type world struct {
	x        State
	trials   []Trial
	restarts int
}

func (w *world) step(t *rapid.T) {
	i := rapid.IntRange(0, len(w.trials)-1).Draw(t, "trial")
	switch rapid.IntRange(0, 7).Draw(t, "news") {
	case 0:
		requests := []Request{Pause, Activate}
		if rapid.IntRange(0, 9).Draw(t, "grave") == 0 {
			requests = Requests()
		}
		if r := rapid.SampledFrom(requests).Draw(t, "request"); r != Finish || w.open() == 0 {
			w.ask(t, r)
		}
	case 1, 2:
		w.set(t, i, w.trials[i].Begin())
	case 3, 4, 5:
		w.endRun(t, i, RunEnd{
			Cause: rapid.SampledFrom(append(Causes(), Failed, Failed, Lost)).Draw(t, "cause"), Heeded: rapid.IntRange(0, 4).Draw(t, "heeded") > 0, NoRetry: rapid.IntRange(0, 5).Draw(t, "no retry") == 5,
		})
	case 6:
		if rapid.IntRange(0, 9).Draw(t, "stops") > 0 {
			return
		}
		w.set(t, i, w.trials[i].Stop(rapid.SampledFrom([]State{StoppingCompleted, StoppingKilled}).Draw(t, "stop")))
	case 7:
		if rapid.IntRange(0, 9).Draw(t, "invalid") > 0 {
			return
		}
		w.set(t, i, w.trials[i].ReportInvalid(time.Unix(0, 0)))
	}
}

func (w *world) ask(t *rapid.T, r Request) {
	next, err := Ask(w.x, r)
	if err != nil && next != w.x {
		t.Fatalf("%s was refused and led from %s to %s", r, w.x, next)
	}
	again, _ := Ask(next, r)
	if again != next {
		t.Fatalf("%s twice led to %s and %s", r, next, again)
	}
	w.setExperiment(t, next)
	for i := range w.trials {
		w.set(t, i, w.trials[i].Follow(w.x))
	}
	w.close(t)
}

// path reports whether state to is reachable from state from. Stopping a trial that is not running
// takes two steps at once.
func path(table func(State) []State, from, to State) bool {
	if from == to || slices.Contains(table(from), to) {
		return true
	}
	return slices.ContainsFunc(table(from), func(s State) bool { return s.Stopping() && slices.Contains(table(s), to) })
}

func (w *world) setExperiment(t *rapid.T, to State) {
	if w.x != to && !slices.Contains(experimentTable(w.x), to) {
		t.Fatalf("the experiment went from %s to %s", w.x, to)
	}
	w.x = to
}

func (w *world) set(t *rapid.T, i int, to Trial) {
	from := w.trials[i]
	if !path(trialTable, from.State, to.State) {
		t.Fatalf("trial %d went from %s to %s", i+1, from.State, to.State)
	}
	switch {
	case from.State.Over() && from.State != to.State:
		t.Fatalf("trial %d had ended as %s and is %s", i+1, from.State, to.State)
	case to.State.Over() && to.Running:
		t.Fatalf("trial %d has ended and runs: %+v", i+1, to)
	case to.Restarts > w.restarts:
		t.Fatalf("trial %d was restarted %d times of %d", i+1, to.Restarts, w.restarts)
	case to.Run < from.Run, to.Run > from.Run && (from.Running || from.State != Active):
		t.Fatalf("trial %d began run %d from %+v", i+1, to.Run, from)
	}
	w.trials[i] = to
}

// endRun checks that the end of a run leads to exactly one of again, held and over, in agreement
// with the state.
func (w *world) endRun(t *rapid.T, i int, e RunEnd) {
	ran := w.trials[i].Running
	to, verdict, why := w.trials[i].EndRun(e, w.restarts)
	if to.Running || why == "" {
		t.Fatalf("the run of %+v ended, and it is %+v because %q", w.trials[i], to, why)
	}
	if from := w.trials[i].State; from != to.State && !to.State.Over() {
		t.Fatalf("the end of a run led from %s to %s", from, to.State)
	}
	want := map[Verdict]bool{Again: to.State == Active, Held: to.State == Paused, Done: to.State.Over()}
	if ran && !want[verdict] {
		t.Fatalf("the verdict is %s, and the trial is %s", verdict, to.State)
	}
	w.set(t, i, to)
	wanted := to.Wanted(time.Unix(1, 0))
	if ran && (verdict == Again) != (wanted == Start) || ran && verdict != Again && wanted != Nothing {
		t.Fatalf("the verdict is %s, and %s is wanted", verdict, wanted)
	}
	w.close(t)
}

func (w *world) close(t *rapid.T) {
	w.setExperiment(t, Close(w.x, w.open()))
	if w.x.Over() && w.open() > 0 {
		t.Fatalf("the experiment is %s, and %d trials are open", w.x, w.open())
	}
}

func (w *world) open() int {
	n := 0
	for _, trial := range w.trials {
		if !trial.State.Over() {
			n++
		}
	}
	return n
}

// end checks that a kill ends everything after the runs have ended.
func (w *world) end(t *rapid.T) {
	w.ask(t, Kill)
	for i := range w.trials {
		if w.trials[i].Running {
			if want := w.trials[i].Wanted(time.Unix(1, 0)); want != End {
				t.Fatalf("%s is wanted of the run of %+v", want, w.trials[i])
			}
			w.endRun(t, i, RunEnd{Cause: Killed})
		}
	}
	w.close(t)
	if !w.x.Over() {
		t.Fatalf("the experiment is %s with %+v", w.x, w.trials)
	}
}
