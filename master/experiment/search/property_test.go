package search

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/master/experiment/hparam"
)

// TestRandomEvents runs searches with reports, repetitions and ends in random order.
func TestRandomEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		w, err := newWitness(c)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		w.handle(t, Input{News: Started})
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			if w.state.Created() > 0 {
				w.handle(t, w.drawInput(t))
			}
		}
		w.checkReplay(t)
		w.endAll(t)
	})
}

func drawConfig(t *rapid.T) Config {
	c := Config{
		Method: rapid.SampledFrom([]Method{Single, Random, Grid, AsyncHalving, AdaptiveASHA}).Draw(t, "method"),
		Space: hparam.Space{
			"a": {Int: &hparam.Int{Min: 0, Max: 9, Count: rapid.IntRange(1, 4).Draw(t, "count")}},
			"b": {Categorical: &hparam.Categorical{Values: []any{"x", "y"}}},
		},
		Seed:      rapid.Uint32().Draw(t, "seed"),
		MaxTrials: rapid.IntRange(1, 40).Draw(t, "trials"), MaxConcurrent: rapid.IntRange(0, 12).Draw(t, "concurrent"),
		Metric: "loss", SmallerIsBetter: rapid.Bool().Draw(t, "smaller"), TimeMetric: "epochs",
		MaxTime: rapid.Uint64Range(1, 100).Draw(t, "time"), Divisor: rapid.SampledFrom([]float64{1.5, 2, 3, 4, 10}).Draw(t, "divisor"),
		Rungs: rapid.IntRange(1, 6).Draw(t, "rungs"), Mode: rapid.SampledFrom([]Mode{Aggressive, Standard, Conservative}).Draw(t, "mode"),
	}
	if c.Method == AdaptiveASHA && rapid.Bool().Draw(t, "explicit") {
		c.BracketRungs = rapid.SliceOfN(rapid.IntRange(1, 5), 1, 6).Draw(t, "brackets")
	}
	return c
}

// witness checks each event against its own record of the search.
type witness struct {
	state  *State
	events []Event
	// times is the length that each trial reported, replaced the number of trials with invalid
	// hyperparameters.
	times    map[int]float64
	counted  map[string]bool
	metrics  map[string][]float64
	stopped  map[int]bool
	ended    map[int]bool
	replaced int
	// draws yields the next trial for the seed.
	draws *hparam.Generator
}

func newWitness(c Config) (*witness, error) {
	s, err := New(c)
	return &witness{
		state: s, times: map[int]float64{}, counted: map[string]bool{}, metrics: map[string][]float64{},
		stopped: map[int]bool{}, ended: map[int]bool{}, draws: hparam.NewGenerator(c.Seed),
	}, err
}

func (w *witness) drawInput(t *rapid.T) Input {
	number := rapid.IntRange(1, w.state.Created()).Draw(t, "trial")
	if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
		return Input{News: Ended, Trial: number, End: rapid.SampledFrom([]End{Completed, Failed, Canceled, Invalid}).Draw(t, "end")}
	}
	w.times[number] += float64(rapid.IntRange(0, 40).Draw(t, "more"))
	metric := float64(rapid.IntRange(-5, 5).Draw(t, "metric"))
	switch rapid.IntRange(0, 20).Draw(t, "special") {
	case 0:
		metric = math.NaN()
	case 1:
		metric = math.Inf(1)
	}
	return Input{News: Validated, Trial: number, Time: Number(w.times[number]), Metric: Number(metric)}
}

func (w *witness) handle(t *rapid.T, in Input) {
	before := dump(w.state)
	d, err := w.state.Decide(in)
	if err != nil {
		t.Fatalf("%+v: %v", in, err)
	}
	if dump(w.state) != before {
		t.Fatalf("deciding on %+v changed the state", in)
	}
	w.check(t, in, d)
	if err := w.state.Apply(in, d); err != nil {
		t.Fatal(err)
	}
	w.events = append(w.events, Event{in, d})
	c := w.state.config
	if n := w.state.Created() - w.replaced; n > c.countTrials() {
		t.Fatalf("%d trials; max_trials is %d", n, c.countTrials())
	}
	if n := len(w.open()); c.MaxConcurrent > 0 && n > c.MaxConcurrent {
		t.Fatalf("%d trials run; max_concurrent_trials is %d", n, c.MaxConcurrent)
	}
}

func (w *witness) check(t *rapid.T, in Input, d Decision) {
	if (w.stopped[in.Trial] && in.News == Validated || w.ended[in.Trial]) && len(d.Actions) > 0 {
		t.Fatalf("%+v of a trial that counts no more led to %+v", in, d.Actions)
	}
	again := w.state.Draws() // before the decision is applied
	for i, a := range d.Actions {
		switch a.Kind {
		case RankTrial:
			w.checkRank(t, a)
			stops := i+1 < len(d.Actions) && d.Actions[i+1].Kind == StopTrial && d.Actions[i+1].Trial == a.Trial
			if r := a.Rank; !r.Worst && r.GoesOn == stops {
				t.Fatalf("%+v is followed by %+v", r, d.Actions[i+1:])
			}
		case StopTrial:
			w.stopped[a.Trial] = true
		case CreateTrial:
			w.checkCreate(t, *a.Create, again.Next(a.Create.Bracket, a.Trial))
		case DropTrial, FinishSearch:
		}
	}
	if in.News != Ended || w.ended[in.Trial] {
		return
	}
	w.ended[in.Trial] = true
	if in.End == Invalid && !w.stopped[in.Trial] {
		w.forget(in.Trial)
	}
}

// checkCreate checks that the next trial depends on the seed alone.
func (w *witness) checkCreate(t *rapid.T, c Create, drawn NewTrial) {
	if w.state.config.Method != Grid {
		if want := w.state.config.Space.Draw(w.draws); fmt.Sprint(drawn.Values) != fmt.Sprint(want) {
			t.Fatalf("drew %v, and the seed has %v", drawn.Values, want)
		}
	}
	if drawn.Create != c {
		t.Fatalf("created %v, and drew %v", c, drawn.Create)
	}
	if id, seed := w.draws.DrawID(), w.draws.DrawSeed(); c.RequestID != id || c.Seed != seed {
		t.Fatalf("created %s with %d, and the seed has %s and %d", c.RequestID, c.Seed, id, seed)
	}
}

func (w *witness) forget(number int) {
	if w.state.replacesInvalid() {
		w.replaced++
	}
	// From now on, only the state shows whether the trial was counted.
	for b := range w.state.rungs {
		for r, here := range w.state.rungs[b] {
			key := fmt.Sprint(b, "/", r)
			w.metrics[key] = nil
			for _, e := range here {
				if e.trial != number {
					w.metrics[key] = append(w.metrics[key], e.key)
				}
			}
		}
	}
}

// checkRank counts the better trials independently.
func (w *witness) checkRank(t *rapid.T, a Action) {
	c, r := w.state.config, *a.Rank
	once, key := fmt.Sprint(a.Trial, "/", r.Rung), fmt.Sprint(r.Bracket, "/", r.Rung)
	if w.counted[once] {
		t.Fatalf("trial %d counts twice in rung %d", a.Trial, r.Rung)
	}
	w.counted[once] = true
	metric := float64(r.Metric)
	if !c.SmallerIsBetter {
		metric = -metric
	}
	better := 0
	for _, m := range w.metrics[key] {
		if m < metric || !math.IsNaN(m) && math.IsNaN(metric) {
			better++
		}
	}
	of := len(w.metrics[key]) + 1
	w.metrics[key] = append(w.metrics[key], metric)
	if r.Of != of || !r.Worst && r.Place != better+1 {
		t.Fatalf("rank is %+v; %d of %d are better", r, better, of)
	}
	if best := max(1, int(float64(of)/c.Divisor)); r.GoesOn && better >= best {
		t.Fatalf("%+v goes on; it is not among the best %d", r, best)
	}
	if last := r.Rung == len(w.state.brackets[r.Bracket].Rungs)-1; r.GoesOn && last {
		t.Fatalf("%+v goes on behind the last rung", r)
	}
}

func (w *witness) open() []int {
	var out []int
	for i := 1; i <= w.state.Created(); i++ {
		if !w.ended[i] && !w.stopped[i] {
			out = append(out, i)
		}
	}
	return out
}

// endAll ends every remaining trial and checks that the search then finishes exactly once.
func (w *witness) endAll(t *rapid.T) {
	for i := 1; i <= w.state.Created(); i++ {
		w.handle(t, Input{News: Ended, Trial: i, End: rapid.SampledFrom([]End{Completed, Failed, Canceled, Invalid}).Draw(t, "last")})
	}
	finishes := 0
	for _, e := range w.events {
		for _, a := range e.Decision.Actions {
			if a.Kind == FinishSearch {
				finishes++
			}
		}
	}
	if w.state.Outcome() == "" || finishes != 1 {
		t.Fatalf("all %d trials have ended; the search is %q and finished %d times", w.state.Created(), w.state.Outcome(), finishes)
	}
}

// checkReplay rebuilds the search from the encoded events.
func (w *witness) checkReplay(t *rapid.T) {
	data, err := json.Marshal(w.events)
	if err != nil {
		t.Fatal(err)
	}
	var stored []Event
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	s, err := Replay(w.state.config, stored)
	if err != nil {
		t.Fatal(err)
	}
	if dump(s) != dump(w.state) || s.rand.DrawID() != w.state.rand.Clone().DrawID() {
		t.Fatalf("replayed:\n%s\nwas:\n%s", dump(s), dump(w.state))
	}
}

// dump returns the state without the words of its generator.
func dump(s *State) string {
	return fmt.Sprint(s.brackets, s.counts, s.rungs, s.trials, s.rand.Drawn(), s.started, s.outcome, s.ends)
}
