package search

import "github.com/det-deploy/det-deploy/master/experiment/hparam"

// State is the state of a search. Only New creates it, and only Apply changes it.
type State struct {
	config   Config
	brackets []Bracket
	counts   []count
	rungs    [][]rung
	trials   []trial
	rand     *hparam.Generator
	started  bool
	outcome  End
	ends     map[End]int
}

// count holds the numbers of trials of a bracket: created in total, replaced because of invalid
// hyperparameters, and running, which excludes stopped and ended ones.
type count struct{ created, replaced, running int }

// trial is the state of one trial.
type trial struct {
	bracket int
	// rung is the first rung that the trial has not reached.
	rung           int
	stopped, ended bool
	// full reports that it was stopped at its full length.
	full bool
	// end is the outcome of a trial that has ended.
	end End
}

// New returns a search that has not started. It returns an error if the configuration is invalid.
func New(c Config) (*State, error) {
	brackets, err := c.Brackets()
	if err != nil {
		return nil, err
	}
	s := &State{
		config: c, brackets: brackets, counts: make([]count, len(brackets)), rungs: make([][]rung, len(brackets)),
		rand: hparam.NewGenerator(c.Seed), ends: map[End]int{},
	}
	for i, b := range brackets {
		s.rungs[i] = make([]rung, len(b.Rungs))
	}
	return s, nil
}

// Outcome returns the outcome of the search, or "" if it has not ended.
func (s *State) Outcome() End { return s.outcome }

// Created returns the number of trials created so far.
func (s *State) Created() int { return len(s.trials) }

// Running returns the number of trials that have neither been stopped nor ended.
func (s *State) Running() int {
	n := 0
	for _, c := range s.counts {
		n += c.running
	}
	return n
}

// Stopped reports whether the search stopped a trial.
func (s *State) Stopped(number int) bool { return s.hasTrial(number) && s.trials[number-1].stopped }

// StoppedEarly reports whether the search stopped a trial before its full length.
func (s *State) StoppedEarly(number int) bool { return s.Stopped(number) && !s.trials[number-1].full }

// Ended reports whether a trial has ended.
func (s *State) Ended(number int) bool { return s.hasTrial(number) && s.trials[number-1].ended }

func (s *State) hasTrial(number int) bool { return number >= 1 && number <= len(s.trials) }

func (s *State) endedTrials() int {
	n := 0
	for _, c := range s.ends {
		n += c
	}
	return n
}
