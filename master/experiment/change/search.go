package change

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// decisions passes news to the search of an experiment, and carries out on its draft what the search decides.
type decisions struct {
	d *Draft
	// inbox is news that the search does not have yet.
	inbox []news
	// made is whether the search has decided anything since the latest piece of news began.
	made bool
	// drawn has the hyperparameters of the trials that the search creates.
	drawn []drawn
}

// news is an input of the search with what else is noted of it.
type news struct {
	input search.Input
	steps int32
}

// queue adds a piece of news of a trial that has done so many steps.
func (s *decisions) queue(in search.Input, steps int32) {
	s.inbox = append(s.inbox, news{input: in, steps: steps})
}

// settle passes on all news, with what follows from it. An experiment that stops decides nothing more.
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

// tellSearch notes a piece of news of the search with its decision, unless it changes nothing.
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

// carryOut does what the search decided, and returns the id of a new trial. A rank and a drop are the
// search's own, and finish looks after its end.
func (s *decisions) carryOut(a search.Action) (int32, error) {
	switch a.Kind {
	case search.CreateTrial:
		return s.createTrial(a.Trial, *a.Create)
	case search.StopTrial:
		if t, found := s.d.trials.numbered(a.Trial); found {
			t.Stopped, t.Reason = true, a.Reason
			t.Life = t.Life.Stop(lifecycle.StoppingCompleted)
			s.d.setTrial(t)
		}
	case search.RankTrial, search.DropTrial, search.FinishSearch:
	}
	return 0, nil
}

// createTrial makes a trial that the search wants.
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
