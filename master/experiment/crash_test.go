package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/rm"
)

// faults are the faults injected while programs run.
type faults struct {
	// restart kills the master after each call, before it reconciles.
	restart bool
	// repeat sends each report twice, like a program that received no answer.
	repeat bool
	// lose removes each run from its machine after this number of reports, 0 for never.
	lose int
	// pause pauses the experiment after this number of turns, and activates it once nothing runs; 0
	// for never.
	pause int
	// jump sets the clock back and forth.
	jump bool
}

// ordered reports whether trials report in the same order despite the faults.
func (f faults) ordered() bool { return f.lose == 0 && f.pause == 0 }

// player plays the programs of all trials, one epoch at a time.
type player struct {
	*world

	f       faults
	reports map[rm.AllocationID]int
	// faced counts the faults.
	faced int
}

// outcome is the part of the result that faults must not change.
type outcome struct {
	State  lifecycle.State
	Best   search.Number
	Trials []string
	Search []search.Event
	Rows   []string
}

func (p *player) fault() {
	p.Helper()
	if p.faced++; p.f.jump {
		p.now = p.now.Add([]time.Duration{25 * time.Hour, -49 * time.Hour, 24*time.Hour + time.Second}[p.faced%3])
	}
	if p.f.restart {
		p.restart()
	}
	p.reconcile()
}

// loss returns the loss of a trial, which is smaller for a smaller learning rate.
func (w *world) loss(t TrialView, epoch int32) float64 {
	return math.Round(1000*w.hparams(t.ID)["lr"]/float64(epoch)) / 1000
}

// epoch trains the program in an allocation for one epoch, and reports whether it is still running.
func (p *player) epoch(id rm.AllocationID) {
	p.Helper()
	request, _ := p.machine.Allocation(id)
	t := p.trialOf(string(request.Request.Task))
	if _, placed := p.reports[id]; !placed {
		p.reports[id] = 0
		p.placeAllocation(id)
		p.fault()
	}
	signal, kill := p.machine.asked(id)
	switch {
	case kill:
		p.end(id, rm.CauseKilled)
	case signal:
		p.heed(id)
	case t.LatestSteps == 16:
		p.exit(id, 0)
	case p.f.lose > 0 && p.reports[id] == p.f.lose:
		p.end(id, rm.CauseAgentLost)
	default:
		p.train(t, id)
		return
	}
	p.fault()
}

func (p *player) train(t TrialView, id rm.AllocationID) {
	p.Helper()
	epoch := t.Base + int32(p.reports[id]) + 1
	p.reports[id]++
	for range map[bool]int{false: 1, true: 2}[p.f.repeat] {
		if err := p.tryReport(t.ID, epoch, map[string]any{"loss": p.loss(t, epoch), "epochs": float64(epoch)}); err != nil {
			p.Fatal(err)
		}
		p.fault()
	}
	p.save(t.ID, epoch)
	p.fault()
}

func (p *player) trialOf(task string) TrialView {
	p.Helper()
	_, trials := p.get(1)
	for _, t := range trials {
		if t.Task() == task {
			return t
		}
	}
	p.Fatalf("task %s is no trial's", task)
	return TrialView{}
}

// byTrial orders allocations by their trials, because they are submitted in random order.
func (p *player) byTrial(list []rm.AllocationID) []rm.AllocationID {
	p.Helper()
	number := func(id rm.AllocationID) int32 {
		request, _ := p.machine.Allocation(id)
		return p.trialOf(string(request.Request.Task)).ID
	}
	slices.SortFunc(list, func(a, b rm.AllocationID) int { return int(number(a) - number(b)) })
	return list
}

// play runs an experiment to its end.
func play(t *testing.T, f faults) outcome {
	t.Helper()
	p := &player{world: newWorld(t), f: f, reports: map[rm.AllocationID]int{}}
	p.create(halving)
	for turn := 0; ; turn++ {
		if v, _ := p.get(1); v.State.Over() {
			break
		}
		open := p.byTrial(p.machine.open())
		if len(open) == 0 || turn > 1000 {
			v, trials := p.get(1)
			t.Fatalf("nothing runs, and the experiment is %s with %+v", v.State, trials)
		}
		p.epoch(open[turn%len(open)])
		if f.pause > 0 && turn%f.pause == f.pause-1 {
			p.pauseOnce()
		}
	}
	return p.outcome()
}

// pauseOnce pauses the experiment until all its programs have saved checkpoints.
func (p *player) pauseOnce() {
	p.Helper()
	if v, _ := p.get(1); v.State != lifecycle.Active {
		return
	}
	p.ask(1, lifecycle.Pause)
	p.fault()
	for _, id := range p.machine.open() {
		p.placeAllocation(id)
		p.heed(id)
		p.fault()
	}
	if n := len(p.machine.open()); n != 0 {
		p.Fatalf("%d runs while it is paused", n)
	}
	if v, _ := p.get(1); v.State == lifecycle.Paused { // the search may have stopped all running trials
		p.ask(1, lifecycle.Activate)
		p.fault()
	}
}

// wantSound checks the properties that hold for any order of reports.
func (o outcome) wantSound(t *testing.T) {
	t.Helper()
	if o.State != lifecycle.Completed || len(o.Trials) != 6 {
		t.Errorf("got %s with %q, want it completed with 6 trials", o.State, o.Trials)
	}
	ranked := map[[2]int]bool{}
	for _, e := range o.Search {
		for _, a := range e.Decision.Actions {
			if a.Kind != search.RankTrial {
				continue
			}
			at := [2]int{a.Trial, a.Rank.Rung}
			if ranked[at] {
				t.Errorf("trial %d was ranked twice in rung %d", a.Trial, a.Rank.Rung)
			}
			ranked[at] = true
		}
	}
	for _, trial := range o.Trials {
		if !strings.HasSuffix(trial, "restarts=0") {
			t.Errorf("got %s, want no restart: no program failed", trial)
		}
	}
}

func (p *player) outcome() outcome {
	p.Helper()
	x, trials := p.get(1)
	out := outcome{State: x.State, Best: x.Best.Metric, Search: p.searched(1)}
	for _, t := range trials {
		out.Trials = append(out.Trials, fmt.Sprintf("%d %s %v %s stopped=%t steps=%d restarts=%d", t.ID, t.RequestID, p.hparams(t.ID), t.Life.State, t.Stopped, t.Steps, t.Life.Restarts))
		for r, err := range metric.Read(p.Context(), p.store, int64(t.ID), metric.Validation, -1) {
			if err != nil {
				p.Fatal(err)
			}
			out.Rows = append(out.Rows, fmt.Sprintf("%d at %d: %v", t.ID, r.Steps, r.Values.Averages))
		}
	}
	return out
}

func TestInterruptedSearchIsDeterministic(t *testing.T) {
	t.Parallel()
	want := play(t, faults{})
	if want.State != lifecycle.Completed || len(want.Trials) != 6 {
		t.Fatalf("got %+v, want a completed experiment of 6 trials", want)
	}
	for name, f := range map[string]faults{
		"killed after each call":     {restart: true},
		"each report sent twice":     {repeat: true},
		"both":                       {restart: true, repeat: true},
		"a clock that jumps":         {jump: true},
		"all of it":                  {jump: true, restart: true, repeat: true},
		"machines lost":              {lose: 3},
		"machines lost and restarts": {lose: 3, restart: true},
		"paused":                     {pause: 3},
		"paused, lost and killed":    {pause: 5, lose: 4, restart: true, repeat: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, f)
			if got.wantSound(t); !f.ordered() {
				return // the order of reports differs, and with it the places in rungs
			}
			if d := cmp.Diff(got, want); d != "" {
				t.Errorf("-got +want:\n%s", d)
			}
		})
	}
}
