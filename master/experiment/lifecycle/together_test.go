package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// TestSearchWithTrialsEnds runs whole experiments: a search, the states of its trials, pauses,
// failures, lost machines, and restarts of a master that loads only the stored state.
func TestSearchWithTrialsEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newExperiment(t)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			w.step(t)
		}
		w.ask(t, lifecycle.Activate)
		for i := 0; !w.x.Over(); i++ {
			if i > 10_000 {
				t.Fatalf("the experiment does not end: %s, %+v", w.x, w.trials)
			}
			w.finishOne(t)
		}
	})
}

type experiment struct {
	config search.Config
	search *search.State
	events []search.Event
	x      lifecycle.State
	trials []lifecycle.Trial
	times  []float64
	told   map[int]bool
}

const maxRestarts = 2

func newExperiment(t *rapid.T) *experiment {
	w := &experiment{
		x: lifecycle.Active, told: map[int]bool{},
		config: search.Config{
			Method: rapid.SampledFrom([]search.Method{search.Random, search.AsyncHalving}).Draw(t, "method"), MaxTrials: 12, MaxConcurrent: 4,
			Metric: "loss", SmallerIsBetter: true, TimeMetric: "epochs", MaxTime: 16, Divisor: 4, Rungs: 3,
		},
	}
	w.restart(t)
	w.tell(t, search.Input{News: search.Started})
	return w
}

// restart rebuilds the state from the stored events.
func (w *experiment) restart(t *rapid.T) {
	s, err := search.Replay(w.config, w.events)
	if err != nil {
		t.Fatal(err)
	}
	w.search = s
}

// tell carries out the decision of the search.
func (w *experiment) tell(t *rapid.T, in search.Input) {
	e, err := w.search.Handle(in)
	if err != nil {
		t.Fatal(err)
	}
	w.events = append(w.events, e)
	for _, a := range e.Decision.Actions {
		switch a.Kind {
		case search.CreateTrial:
			w.trials = append(w.trials, lifecycle.NewTrial(w.x, ""))
			w.times = append(w.times, 0)
		case search.StopTrial:
			w.set(t, a.Trial-1, w.trials[a.Trial-1].Stop(lifecycle.StoppingCompleted))
		case search.FinishSearch:
			w.x, err = lifecycle.Ask(w.x, map[search.End]lifecycle.Request{
				search.Completed: lifecycle.Finish, search.Failed: lifecycle.Fail, search.Canceled: lifecycle.Cancel,
			}[a.Outcome])
			if err != nil {
				t.Fatal(err)
			}
			w.x = lifecycle.Close(w.x, w.open())
		case search.RankTrial, search.DropTrial:
		}
	}
	if n := w.search.Running(); n > w.config.MaxConcurrent {
		t.Fatalf("%d trials at once", n)
	}
}

// set updates a trial, and reports its end to the search once.
func (w *experiment) set(t *rapid.T, i int, trial lifecycle.Trial) {
	w.trials[i] = trial
	if !trial.State.Over() || w.told[i] {
		return
	}
	w.told[i] = true
	end := map[lifecycle.State]search.End{
		lifecycle.Completed: search.Completed, lifecycle.Canceled: search.Canceled, lifecycle.Error: search.Failed,
	}[trial.State]
	if end == search.Completed && trial.Invalid() {
		end = search.Invalid
	}
	w.tell(t, search.Input{News: search.Ended, Trial: i + 1, End: end})
}

func (w *experiment) open() int {
	n := 0
	for _, trial := range w.trials {
		if !trial.State.Over() {
			n++
		}
	}
	return n
}

func (w *experiment) ask(t *rapid.T, r lifecycle.Request) {
	if w.x.Over() {
		return
	}
	x, err := lifecycle.Ask(w.x, r)
	if err != nil {
		t.Fatal(err)
	}
	w.x = x
	for i := range w.trials {
		w.set(t, i, w.trials[i].Follow(x))
	}
}

func (w *experiment) step(t *rapid.T) {
	i := rapid.IntRange(0, len(w.trials)-1).Draw(t, "trial")
	switch rapid.IntRange(0, 9).Draw(t, "news") {
	case 0:
		w.ask(t, rapid.SampledFrom([]lifecycle.Request{lifecycle.Pause, lifecycle.Activate}).Draw(t, "request"))
	case 1:
		w.restart(t)
	case 2:
		w.set(t, i, w.trials[i].Stop(lifecycle.StoppingKilled)) // det trial kill
	case 3:
		w.set(t, i, w.trials[i].ReportInvalid(time.Unix(0, 0)))
	case 4, 5, 6:
		w.report(t, i)
	default:
		w.endRun(t, i, lifecycle.RunEnd{Cause: rapid.SampledFrom(lifecycle.Causes()).Draw(t, "cause"), Heeded: rapid.Bool().Draw(t, "heeded")})
	}
}

// report reports a validation. A lost run starts again at an earlier epoch.
func (w *experiment) report(t *rapid.T, i int) {
	w.trials[i] = w.trials[i].Begin()
	if !w.trials[i].Running {
		return
	}
	w.times[i] = max(0, w.times[i]+float64(rapid.IntRange(-3, 6).Draw(t, "epochs")))
	w.tell(t, search.Input{News: search.Validated, Trial: i + 1, Time: search.Number(w.times[i]), Metric: search.Number(rapid.IntRange(0, 9).Draw(t, "loss"))})
}

func (w *experiment) endRun(t *rapid.T, i int, e lifecycle.RunEnd) {
	w.trials[i] = w.trials[i].Begin()
	if !w.trials[i].Running {
		return
	}
	trial, _, _ := w.trials[i].EndRun(e, maxRestarts)
	w.set(t, i, trial)
	w.x = lifecycle.Close(w.x, w.open())
}

// finishOne performs the wanted action of the first open trial.
func (w *experiment) finishOne(t *rapid.T) {
	for i, trial := range w.trials {
		switch trial.Wanted(time.Unix(0, 0)) {
		case lifecycle.Nothing:
			continue
		case lifecycle.Start:
			w.trials[i] = trial.Begin()
		case lifecycle.Keep:
			w.endRun(t, i, lifecycle.RunEnd{Cause: lifecycle.Exited})
		case lifecycle.Signal:
			w.endRun(t, i, lifecycle.RunEnd{Cause: lifecycle.Exited, Heeded: true})
		case lifecycle.End:
			w.endRun(t, i, lifecycle.RunEnd{Cause: lifecycle.Killed})
		}
		return
	}
	t.Fatalf("nothing is wanted, and the experiment is %s with %+v", w.x, w.trials)
}
