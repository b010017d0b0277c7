package change

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// decisions passes inputs to the search and applies its decisions to the draft.
type decisions struct {
	d *Draft
	// inbox holds the inputs that the search has not processed.
	inbox []news
	// made reports whether the search has decided anything in the current job.
	made bool
	// drawn holds the draws of the trials that the search creates.
	drawn []drawn
}

// news is an input of the search with the number of steps for the event.
type news struct {
	input search.Input
	steps int32
}

// queue adds an input for a trial that has completed the given number of steps.
func (s *decisions) queue(in search.Input, steps int32) {
	s.inbox = append(s.inbox, news{input: in, steps: steps})
}

// settle passes all queued inputs to the search. Inputs of a stopping experiment are dropped.
func (s *decisions) settle() error {
	for len(s.inbox) > 0 {
		n := s.inbox[0]
		s.inbox = s.inbox[1:]
		if s.d.x.search == nil || s.d.Record.State.Stopping() {
			continue
		}
		if err := s.tellSearch(n); err != nil {
			return err
		}
	}
	return nil
}

// tellSearch passes an input to the search and records the decision. A validation without effect is
// not recorded.
func (s *decisions) tellSearch(n news) error {
	decision, err := s.d.x.search.Decide(n.input)
	if err != nil {
		return fmt.Errorf("experiment %d: %w", s.d.Record.ID, err)
	}
	if n.input.News == search.Validated && len(decision.Actions) == 0 {
		return nil
	}
	s.made = true
	draws := s.d.x.search.Draws()
	if err := s.d.x.search.Apply(n.input, decision); err != nil {
		return fmt.Errorf("experiment %d: %w", s.d.Record.ID, err)
	}
	e := record.Event{Kind: record.Searched, Steps: n.steps, Search: &search.Event{Input: n.input, Decision: decision}}
	if t, found := s.d.trials.numbered(n.input.Trial); found {
		e.Trial, e.Run = t.ID, t.Life.Run
	}
	at := len(s.d.Events)
	s.d.note(e)
	for _, a := range decision.Actions {
		id, err := s.carryOut(a)
		if err != nil {
			return err
		}
		if id != 0 {
			s.d.Events[at].Trials = append(s.d.Events[at].Trials, id)
		}
	}
	if ids := s.d.Events[at].Trials; len(ids) > 0 {
		s.drawn = append(s.drawn, drawn{from: draws, actions: decision.Actions, ids: ids})
	}
	return nil
}

// carryOut applies an action to the draft and returns the ID of a new trial. RankTrial and DropTrial
// only change the search, and finish handles its end.
func (s *decisions) carryOut(a search.Action) (int32, error) {
	switch a.Kind {
	case search.CreateTrial:
		return s.createTrial(a.Trial, *a.Create)
	case search.StopTrial:
		if t, found := s.d.trials.numbered(a.Trial); found {
			t.Stopped, t.Full, t.Reason = true, a.Full, a.Reason
			t.Life = t.Life.Stop(lifecycle.StoppingCompleted)
			s.d.setTrial(t)
		}
	case search.RankTrial, search.DropTrial, search.FinishSearch:
	}
	return 0, nil
}

// createTrial creates a trial for the search.
func (s *decisions) createTrial(number int, c search.Create) (int32, error) {
	id, err := s.d.newID()
	if err != nil {
		return 0, err
	}
	t := record.Trial{
		ID: id, Experiment: s.d.Record.ID, Number: number, RequestID: c.RequestID, Seed: c.Seed,
		Tasks: []string{fmt.Sprintf("%d.%s", s.d.Record.ID, c.RequestID)}, Created: s.d.now,
		Life: lifecycle.NewTrial(s.d.Record.State, s.d.Record.Searcher.SourceCheckpoint),
	}
	s.d.addTrial(t)
	return id, nil
}
