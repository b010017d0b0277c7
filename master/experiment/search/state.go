package search

import "github.com/det-deploy/det-deploy/master/experiment/hparam"

// State is where a search stands. It is built by New and changed by Apply alone.
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

// count is how many trials of a bracket there are: created ever, replaced because their
// hyperparameters were impossible, and running: neither stopped nor ended.
type count struct{ created, replaced, running int }

// trial is what the search knows of one trial.
type trial struct {
	bracket int
	// rung is the next one that it has not reached.
	rung           int
	stopped, ended bool
}

// New is a search before its start. The error says what is wrong with the configuration.
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

// Outcome is how the search ended, empty as long as it has not.
func (s *State) Outcome() End { return s.outcome }

// Created is how many trials were created.
func (s *State) Created() int { return len(s.trials) }

// Running is how many trials were created and have neither been stopped nor ended.
func (s *State) Running() int {
	n := 0
	for _, c := range s.counts {
		n += c.running
	}
	return n
}

// Stopped says whether the search stopped a trial.
func (s *State) Stopped(number int) bool { return s.hasTrial(number) && s.trials[number-1].stopped }

// Ended says whether a trial has ended.
func (s *State) Ended(number int) bool { return s.hasTrial(number) && s.trials[number-1].ended }

func (s *State) hasTrial(number int) bool { return number >= 1 && number <= len(s.trials) }

func (s *State) endedTrials() int {
	n := 0
	for _, c := range s.ends {
		n += c
	}
	return n
}
