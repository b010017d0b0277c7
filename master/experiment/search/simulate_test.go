package search

import (
	"math/rand/v2"
	"testing"
	"time"
)

// decays returns curves that each approach a level of its own.
func decays(n, points int) []Curve {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]Curve, n)
	for i := range out {
		level := r.Float64()
		for p := 1; p <= points; p++ {
			out[i] = append(out[i], Point{Time: Number(p), Metric: Number(level + (1+r.Float64()/10)/float64(p))})
		}
	}
	return out
}

func TestSimulatedCurves(t *testing.T) {
	c := halving(64, 16)
	sim, err := c.Simulate(decays(64, 16))
	if err != nil {
		t.Fatal(err)
	}
	stopped, ended := 0, 0
	for _, s := range sim.Trials {
		if s.Stopped {
			stopped++
		} else {
			ended++
		}
	}
	if len(sim.Trials) != 64 || stopped < 40 || sim.Outcome != Completed || sim.Trained >= sim.Recorded/2 || sim.Best == nil {
		t.Errorf("%d trials, %d stopped, %d ended; trained %v of %v; %+v", len(sim.Trials), stopped, ended, sim.Trained, sim.Recorded, sim.Best)
	}
	if sim.Took < 16 || sim.Took > sim.Trained {
		t.Errorf("took %v", sim.Took)
	}
}

func TestSimulatedTrialsStop(t *testing.T) {
	curve := func(metric float64) Curve {
		return Curve{{1, Number(metric)}, {4, Number(metric)}, {16, Number(metric)}}
	}
	sim, err := halving(4, 1).Simulate([]Curve{curve(0.1), curve(0.9), {}, curve(0.05)})
	if err != nil {
		t.Fatal(err)
	}
	want := []Number{16, 1, 0, 16}
	for i, s := range sim.Trials {
		if s.Reached != want[i] {
			t.Errorf("trial %d reached %v, want %v", s.Trial, s.Reached, want[i])
		}
	}
	if sim.Took != 33 || sim.Trained != 33 || sim.Recorded != 48 || sim.Best.Trial != 4 {
		t.Errorf("%+v", sim)
	}
}

func TestInvalidCurves(t *testing.T) {
	for _, curves := range [][]Curve{nil, {{{Time: 2}, {Time: 2}}}, {{{Time: -1}}}} {
		if _, err := halving(4, 1).Simulate(curves); err == nil {
			t.Errorf("%v: no error", curves)
		}
	}
}

func TestALargeSearchIsSimulatedInSeconds(t *testing.T) {
	c := halving(10_000, 100)
	c.Rungs, c.MaxTime = 5, 256
	begin := time.Now()
	sim, err := c.Simulate(decays(10_000, 10))
	if err != nil || len(sim.Trials) != 10_000 {
		t.Fatalf("%d trials, %v", len(sim.Trials), err)
	}
	if took := time.Since(begin); took > 30*time.Second { // takes 1 s on an idle machine
		t.Errorf("took %v", took)
	}
}

// BenchmarkDecision measures one decision among 10,000 trials.
func BenchmarkDecision(b *testing.B) {
	c := halving(20_000, 10_001)
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Handle(Input{News: Started}); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := 1; i <= 10_000; i++ {
		if _, err := s.Handle(validated(i, 1, r.Float64())); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.Decide(validated(10_001, 1, 0.5)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay rebuilds a search of 10,000 trials from its events.
func BenchmarkReplay(b *testing.B) {
	c := halving(10_000, 100)
	sim, err := c.Simulate(decays(10_000, 16))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Replay(c, sim.Events); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(sim.Events)), "events")
}
