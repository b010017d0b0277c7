// Package change computes the effect of reports, requests and ends of runs on an experiment: its
// record, its trials, its events and the decisions of its search. It reads no clock and performs no
// I/O.
package change

import (
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// rules are the settings that decide about trials.
type rules struct {
	search      search.Config
	maxRestarts int
}

func rulesOf(c config.Experiment) rules {
	r := rules{search: c.Search()}
	if c.MaxRestarts != nil {
		r.maxRestarts = *c.MaxRestarts
	}
	return r
}

// Experiment is a stored experiment with its trials.
type Experiment struct {
	Record record.Experiment
	// Config is complete. A light experiment has no configuration.
	Config config.Experiment

	rules rules
	light bool
	// trials are ordered by ID, which is the order of creation.
	trials []record.Trial
	byID   map[int32]int
	byTask map[string]int
	// search is nil for unmanaged experiments and for light ones.
	search *search.State
}

// Load builds an experiment from its documents. The events must be ordered. It returns an error if
// the search cannot be rebuilt.
func Load(x record.Experiment, c config.Experiment, trials []record.Trial, events []record.Event) (*Experiment, error) {
	out := &Experiment{Record: x, Config: c, rules: rulesOf(c), byID: map[int32]int{}, byTask: map[string]int{}}
	slices.SortFunc(trials, func(a, b record.Trial) int { return int(a.ID - b.ID) })
	for _, t := range trials {
		out.addTrial(t)
	}
	if x.Unmanaged {
		return out, nil
	}
	var facts []search.Event
	for _, e := range events {
		if e.Search != nil {
			facts = append(facts, *e.Search)
		}
	}
	var err error
	if out.search, err = search.Replay(out.rules.search, facts); err != nil {
		return nil, fmt.Errorf("rebuild the search of experiment %d: %w", x.ID, err)
	}
	return out, nil
}

// Light returns an ended experiment without its trials and its search, for changes that need
// neither.
func Light(x record.Experiment) *Experiment {
	return &Experiment{Record: x, light: true, byID: map[int32]int{}, byTask: map[string]int{}}
}

func (x *Experiment) addTrial(t record.Trial) {
	at := len(x.trials)
	x.trials = append(x.trials, t)
	x.byID[t.ID] = at
	for _, task := range t.Tasks {
		x.byTask[task] = at
	}
}

// Trial returns a trial by ID.
func (x *Experiment) Trial(id int32) (record.Trial, bool) {
	if at, found := x.byID[id]; found {
		return x.trials[at], true
	}
	return record.Trial{}, false
}

// TrialOfTask returns the trial that a task runs or ran.
func (x *Experiment) TrialOfTask(task string) (record.Trial, bool) {
	if at, found := x.byTask[task]; found {
		return x.trials[at], true
	}
	return record.Trial{}, false
}

// Trials returns all trials ordered by ID.
func (x *Experiment) Trials() []record.Trial { return slices.Clone(x.trials) }

// TrialsFrom returns up to n trials from index from on, ordered by ID.
func (x *Experiment) TrialsFrom(from, n int) []record.Trial {
	from = min(from, len(x.trials))
	return slices.Clone(x.trials[from:min(from+n, len(x.trials))])
}

// TrialIDs returns the IDs of all trials in ascending order.
func (x *Experiment) TrialIDs() []int32 {
	out := make([]int32, len(x.trials))
	for i := range x.trials {
		out[i] = x.trials[i].ID
	}
	return out
}

// Run is a run of a trial that has not ended.
type Run struct {
	Task string
	Run  int
}

// RunOf returns the latest run of a trial.
func RunOf(t record.Trial) Run { return Run{Task: t.Task(), Run: t.Life.Run} }

// Runs returns all runs that have not ended.
func (x *Experiment) Runs() (out []Run) {
	for i := range x.trials {
		if t := &x.trials[i]; t.Life.Running && !t.Life.State.Over() {
			out = append(out, Run{Task: t.Task(), Run: t.Life.Run})
		}
	}
	return out
}

// OpenTrials returns the trials that have not ended.
func (x *Experiment) OpenTrials() []record.Trial {
	out := make([]record.Trial, 0, x.Record.Open)
	for _, t := range x.trials {
		if !t.Life.State.Over() {
			out = append(out, t)
		}
	}
	return out
}

// Publish applies a stored draft to the experiment.
func (x *Experiment) Publish(d *Draft) {
	x.Record = d.Record
	if d.Config != nil {
		x.Config, x.rules = *d.Config, rulesOf(*d.Config)
	}
	for _, t := range d.Changed() {
		if at, found := x.byID[t.ID]; found {
			x.trials[at] = t
			x.byTask[t.Task()] = at
			continue
		}
		x.addTrial(t)
	}
}
