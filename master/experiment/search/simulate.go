package search

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
)

// Point is one validation of a recorded trial.
type Point struct {
	Time   Number `json:"time"`
	Metric Number `json:"metric"`
}

// Curve is the list of validations of a recorded trial in the order of their times.
type Curve []Point

// Simulation is the result of simulating a search on recorded curves.
type Simulation struct {
	Outcome End `json:"outcome"`
	// Trained is the length of all trials in units of the time metric, Recorded the total length of
	// their curves.
	Trained  Number `json:"trained"`
	Recorded Number `json:"recorded"`
	// Took is the duration in units, if a unit takes every trial the same time.
	Took   Number      `json:"took"`
	Best   *Simulated  `json:"best,omitempty"`
	Trials []Simulated `json:"trials"`
	Events []Event     `json:"events"`
}

// Simulated is one trial of a simulation.
type Simulated struct {
	Trial int `json:"trial"`
	// Reached is the length of the trial. Best is its best metric up to there, NaN without a point.
	Reached Number `json:"reached"`
	Best    Number `json:"best"`
	// Stopped reports that the search stopped the trial before its full length.
	Stopped bool `json:"stopped"`
}

// Simulate runs the search on recorded curves. Trial i uses curve i; if there are fewer curves than
// trials, they are reused in order. A trial ends at the end of its curve or when it is stopped. It
// returns an error if the configuration or a curve is invalid.
func (c Config) Simulate(curves []Curve) (Simulation, error) {
	if err := checkCurves(curves); err != nil {
		return Simulation{}, err
	}
	s, err := New(c)
	if err != nil {
		return Simulation{}, err
	}
	p := &player{state: s, curves: curves}
	if err := p.handleNews(Input{News: Started}); err != nil {
		return Simulation{}, err
	}
	for len(p.runs) > 0 {
		if err := p.playPoint(); err != nil {
			return Simulation{}, err
		}
	}
	return p.result(), nil
}

func checkCurves(curves []Curve) error {
	if len(curves) == 0 {
		return errors.New("simulate the search: no curves given")
	}
	for i, curve := range curves {
		before := math.Inf(-1)
		for j, p := range curve {
			t := float64(p.Time)
			if !(t > before) || math.IsInf(t, 0) || t < 0 {
				return fmt.Errorf("simulate the search: curve %d has the time %s as its %s; times must be at least 0 and increase", i+1, p.Time, formatOrdinal(j+1))
			}
			before = t
		}
	}
	return nil
}

// player simulates a search on curves.
type player struct {
	state  *State
	curves []Curve
	now    float64
	runs   runs
	sim    Simulation
}

// playPoint processes the next point in the order of time.
func (p *player) playPoint() error {
	r := p.runs[0]
	curve := p.curves[(r.trial-1)%len(p.curves)]
	if r.next == len(curve) || p.state.Stopped(r.trial) {
		heap.Pop(&p.runs)
		return p.handleNews(Input{News: Ended, Trial: r.trial, End: Completed})
	}
	at := curve[r.next]
	p.now = r.at
	r.next++
	if r.next < len(curve) {
		r.at = r.start + float64(curve[r.next].Time)
	}
	p.notePoint(r.trial, at)
	if err := p.handleNews(Input{News: Validated, Trial: r.trial, Time: at.Time, Metric: at.Metric}); err != nil {
		return err
	}
	if p.state.Stopped(r.trial) {
		r.at = p.now
	}
	heap.Fix(&p.runs, r.index)
	return nil
}

func (p *player) notePoint(trial int, at Point) {
	t := &p.sim.Trials[trial-1]
	t.Reached = at.Time
	if c := p.state.config; math.IsNaN(float64(t.Best)) || isBetter(c.rankKey(at.Metric), c.rankKey(t.Best)) {
		t.Best = at.Metric
	}
}

// handleNews processes an input and starts the resulting trials.
func (p *player) handleNews(in Input) error {
	e, err := p.state.Handle(in)
	if err != nil {
		return err
	}
	p.sim.Events = append(p.sim.Events, e)
	for _, a := range e.Decision.Actions {
		if a.Kind != CreateTrial {
			continue
		}
		curve := p.curves[(a.Trial-1)%len(p.curves)]
		r := &run{trial: a.Trial, start: p.now, at: p.now}
		if len(curve) > 0 {
			r.at += float64(curve[0].Time)
			p.sim.Recorded += curve[len(curve)-1].Time
		}
		p.sim.Trials = append(p.sim.Trials, Simulated{Trial: a.Trial, Best: Number(math.NaN())})
		heap.Push(&p.runs, r)
	}
	return nil
}

func (p *player) result() Simulation {
	out := p.sim
	out.Outcome, out.Took = p.state.Outcome(), Number(p.now)
	for i := range out.Trials {
		t := &out.Trials[i]
		t.Stopped = p.state.StoppedEarly(t.Trial)
		out.Trained += t.Reached
		if c := p.state.config; out.Best == nil || isBetter(c.rankKey(t.Best), c.rankKey(out.Best.Best)) {
			out.Best = t
		}
	}
	return out
}
