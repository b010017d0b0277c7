package search

import "fmt"

// Event is an input with the resulting decision.
type Event struct {
	Input    Input    `json:"input"`
	Decision Decision `json:"decision"`
}

// Apply applies a decision to the state without checking whether Decide would make it now, so that
// decisions of earlier versions stay valid. It returns an error if the decision belongs to another
// search; the state must not be used afterwards.
func (s *State) Apply(in Input, d Decision) error {
	s.started = s.started || in.News == Started
	if s.hasTrial(in.Trial) && in.News == Ended {
		s.noteEnd(in)
	}
	for _, a := range d.Actions {
		if !s.fitsSearch(a) {
			return fmt.Errorf("apply the decision: action %s of trial %d does not belong to this search", a.Kind, a.Trial)
		}
		s.applyAction(a)
	}
	s.rand.AdvanceTo(d.Drawn)
	return nil
}

// fitsSearch reports whether an action refers to existing trials, brackets and rungs.
func (s *State) fitsSearch(a Action) bool {
	switch a.Kind {
	case CreateTrial:
		return a.Create != nil && a.Create.Bracket >= 0 && a.Create.Bracket < len(s.brackets) && a.Trial == len(s.trials)+1
	case RankTrial:
		if !s.hasTrial(a.Trial) || a.Rank == nil || a.Rank.Bracket != s.trials[a.Trial-1].bracket {
			return false
		}
		rungs := s.rungs[a.Rank.Bracket]
		return a.Rank.Rung >= 0 && a.Rank.Rung < len(rungs) && a.Rank.Place >= 1 && a.Rank.Place <= len(rungs[a.Rank.Rung])+1
	case StopTrial, DropTrial:
		return s.hasTrial(a.Trial)
	case FinishSearch:
		return a.Outcome != ""
	}
	return false
}

func (s *State) noteEnd(in Input) {
	t := &s.trials[in.Trial-1]
	if t.ended {
		return
	}
	t.ended, t.end = true, in.End
	s.ends[in.End]++
	c := &s.counts[t.bracket]
	if t.stopped {
		return
	}
	c.running--
	if in.End == Invalid && s.replacesInvalid() {
		c.replaced++
	}
}

func (s *State) applyAction(a Action) {
	switch a.Kind {
	case CreateTrial:
		s.trials = append(s.trials, trial{bracket: a.Create.Bracket})
		s.counts[a.Create.Bracket].created++
		s.counts[a.Create.Bracket].running++
	case RankTrial:
		s.insertRank(a.Trial, *a.Rank)
		s.trials[a.Trial-1].rung = a.Rank.Rung + 1
	case StopTrial:
		s.trials[a.Trial-1].stopped, s.trials[a.Trial-1].full = true, a.Full
		s.counts[s.trials[a.Trial-1].bracket].running--
	case DropTrial:
		s.dropTrial(a.Trial)
	case FinishSearch:
		s.outcome = a.Outcome
	}
}

// Handle decides on an input and applies the decision. It returns both as an event.
func (s *State) Handle(in Input) (Event, error) {
	d, err := s.Decide(in)
	if err != nil {
		return Event{}, err
	}
	return Event{Input: in, Decision: d}, s.Apply(in, d)
}

// Replay rebuilds a search from its events. It returns an error if an event belongs to another
// search.
func Replay(c Config, events []Event) (*State, error) {
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	for i, e := range events {
		if err := s.Apply(e.Input, e.Decision); err != nil {
			return nil, fmt.Errorf("replay event %d: %w", i+1, err)
		}
	}
	return s, nil
}
