package search

import (
	"math"
	"strings"
	"testing"
)

// halving returns a configuration of async_halving with rungs at 1, 4 and 16 epochs.
func halving(trials, concurrent int) Config {
	return Config{
		Method: AsyncHalving, MaxTrials: trials, MaxConcurrent: concurrent, Metric: "loss", SmallerIsBetter: true,
		TimeMetric: "epochs", MaxTime: 16, Divisor: 4, Rungs: 3,
	}
}

func start(t *testing.T, c Config) *State {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	handle(t, s, Input{News: Started})
	return s
}

func handle(t *testing.T, s *State, in Input) []Action {
	t.Helper()
	e, err := s.Handle(in)
	if err != nil {
		t.Fatal(err)
	}
	return e.Decision.Actions
}

func validated(trial int, at, metric float64) Input {
	return Input{News: Validated, Trial: trial, Time: Number(at), Metric: Number(metric)}
}

func kinds(actions []Action) string {
	var out []string
	for _, a := range actions {
		out = append(out, string(a.Kind))
	}
	return strings.Join(out, " ")
}

func TestTrialIsRankedOncePerRung(t *testing.T) {
	s := start(t, halving(20, 4))
	if got := kinds(handle(t, s, validated(1, 1, 0.5))); got != "rank" {
		t.Fatalf("first report: %s", got)
	}
	for range 3 { // the harness repeats reports that were not answered
		if got := handle(t, s, validated(1, 1, 0.5)); len(got) != 0 {
			t.Fatalf("repeated report: %+v", got)
		}
	}
	if n := len(s.rungs[0][0]); n != 1 {
		t.Errorf("%d trials in the rung, want 1", n)
	}
}

func TestStoppedTrialIsNotRanked(t *testing.T) {
	s := start(t, halving(20, 4))
	handle(t, s, validated(1, 1, 0.1))
	if got := kinds(handle(t, s, validated(2, 1, 0.9))); got != "rank stop create" {
		t.Fatalf("a worse trial: %s", got)
	}
	for at := 1.0; at <= 16; at++ {
		if got := handle(t, s, validated(2, at, 0.01)); len(got) != 0 {
			t.Fatalf("report at %v of a stopped trial: %+v", at, got)
		}
	}
	if s.Created() != 5 || s.Running() != 4 || len(s.rungs[0][0]) != 2 {
		t.Errorf("%d trials, %d run, %d in the rung", s.Created(), s.Running(), len(s.rungs[0][0]))
	}
	if got := handle(t, s, Input{News: Ended, Trial: 2, End: Completed}); len(got) != 0 {
		t.Errorf("the end of a stopped trial, whose place was given away: %+v", got)
	}
}

func TestReasonsReadAsSentences(t *testing.T) {
	s := start(t, halving(20, 9))
	for i, metric := range []float64{0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9} {
		handle(t, s, validated(i+1, 1, metric))
	}
	actions := handle(t, s, validated(9, 2, 0.412))
	if got, want := actions[1].Reason, "stopped at 2 epochs: 0.412 is 5th of 9, 2 continue"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	actions = handle(t, s, validated(1, 16, 0.05))
	if got, want := actions[len(actions)-2].Reason, "done at 16 epochs: 0.05 is 1st of 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 111: "111th", 122: "122nd"} {
		if got := formatOrdinal(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}

func TestATrialMayPassSeveralRungsAtOnce(t *testing.T) {
	s := start(t, halving(20, 4))
	if got := kinds(handle(t, s, validated(1, 5, 0.5))); got != "rank rank" {
		t.Errorf("a first trial at 5 epochs: %s", got)
	}
	if got := kinds(handle(t, s, validated(2, 16, 0.4))); got != "rank rank rank stop create" {
		t.Errorf("a better one at the end: %s", got)
	}
}

func TestNaNNeverContinues(t *testing.T) {
	s := start(t, halving(20, 4))
	if got := kinds(handle(t, s, validated(1, 1, math.NaN()))); got != "rank stop create" {
		t.Errorf("NaN as the first of a rung: %s", got)
	}
	if got := handle(t, s, validated(2, 1, math.Inf(1))); got[0].Rank.Place != 1 {
		t.Errorf("infinity is behind NaN: %+v", got[0].Rank)
	}
}

func TestEndsOfTrials(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		end    End
		want   string
		left   int
	}{
		{"a failed one is the worst of its rung", halving(9, 2), Failed, "rank create", 1},
		{"one that was killed too", halving(9, 2), Canceled, "rank create", 1},
		{"one that ends by itself makes place", halving(9, 2), Completed, "create", 0},
		{"impossible hyperparameters count nowhere", halving(9, 2), Invalid, "create", 0},
		{"random replaces", Config{Method: Random, MaxTrials: 2, MaxConcurrent: 2}, Invalid, "create", 0},
		{"random has no more", Config{Method: Random, MaxTrials: 2, MaxConcurrent: 2}, Failed, "", 0},
		{"single has one", Config{Method: Single}, Invalid, "finish", 0},
	} {
		s := start(t, c.config)
		if got := kinds(handle(t, s, Input{News: Ended, Trial: 1, End: c.end})); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.config.Halving() && len(s.rungs[0][0]) != c.left {
			t.Errorf("%s: %d in the rung", c.name, len(s.rungs[0][0]))
		}
	}
}

func TestReplacementsEnd(t *testing.T) {
	for _, c := range []Config{halving(9, 2), {Method: Random, MaxTrials: 9, MaxConcurrent: 2}} {
		s := start(t, c)
		for i := 1; i <= s.Created() && i < 100; i++ {
			handle(t, s, Input{News: Ended, Trial: i, End: Invalid})
		}
		if s.Created() != 18 || s.Outcome() != Completed {
			t.Errorf("%s: %d trials, ended as %q", c.Method, s.Created(), s.Outcome())
		}
	}
}

func TestInvalidTrialIsDropped(t *testing.T) {
	s := start(t, halving(9, 2))
	handle(t, s, validated(1, 4, 0.1))
	if got := kinds(handle(t, s, Input{News: Ended, Trial: 1, End: Invalid})); got != "drop create" {
		t.Errorf("got %s", got)
	}
	if len(s.rungs[0][0])+len(s.rungs[0][1]) != 0 {
		t.Errorf("still in %v", s.rungs)
	}
}

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		ends []End
		want End
	}{
		{[]End{Completed, Completed, Completed}, Completed},
		{[]End{Failed, Failed, Failed}, Failed},
		{[]End{Canceled, Canceled, Canceled}, Canceled},
		{[]End{Failed, Canceled, Failed}, Completed},
		{[]End{Failed, Failed, Completed}, Completed},
	} {
		s := start(t, Config{Method: Random, MaxTrials: 3, MaxConcurrent: 1})
		for i, end := range c.ends {
			handle(t, s, Input{News: Ended, Trial: i + 1, End: end})
		}
		if s.Outcome() != c.want {
			t.Errorf("%v ended as %q, want %q", c.ends, s.Outcome(), c.want)
		}
	}
}

func TestInvalidInputs(t *testing.T) {
	s := start(t, halving(9, 2))
	for _, in := range []Input{
		{News: "closed", Trial: 1},
		validated(3, 1, 1),
		validated(0, 1, 1),
		{News: Ended, Trial: 1, End: "gone"},
	} {
		if _, err := s.Decide(in); err == nil {
			t.Errorf("%+v: no error", in)
		}
	}
}

func TestReadMetrics(t *testing.T) {
	c := halving(9, 2)
	for _, x := range []struct {
		metrics map[string]any
		ok      bool
	}{
		{map[string]any{"loss": 0.5, "epochs": 3.0}, true},
		{map[string]any{"loss": math.NaN(), "epochs": int64(3)}, true},
		{map[string]any{"loss": 0.5}, false},
		{map[string]any{"epochs": 3.0}, false},
		{map[string]any{"loss": "0.5", "epochs": 3.0}, false},
		{map[string]any{"loss": 0.5, "epochs": math.Inf(1)}, false},
	} {
		if _, _, ok := c.ReadMetrics(x.metrics); ok != x.ok {
			t.Errorf("%v: %v", x.metrics, ok)
		}
	}
}

func TestDecisionsOfAnotherSearchAreRefused(t *testing.T) {
	events := []Event{{Input{News: Started}, Decision{Actions: []Action{{Kind: CreateTrial, Trial: 1, Create: &Create{Bracket: 3}}}}}}
	if _, err := Replay(halving(9, 2), events); err == nil {
		t.Error("no error")
	}
}
