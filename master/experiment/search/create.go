package search

import (
	"fmt"
	"slices"
)

// fillPlaces creates trials until all places are taken, starting with the bracket in which a place
// became free.
func (s *State) fillPlaces(d *Decision, counts []count, first int) {
	var draws *Draws
	order := []int{first}
	for b := range counts {
		if b != first {
			order = append(order, b)
		}
	}
	created := len(s.trials)
	for _, b := range order {
		for s.hasPlace(counts, b, created) {
			if draws == nil {
				draws = s.Draws()
			}
			created++
			next := draws.Next(b, created).Create
			d.Actions = append(d.Actions, Action{Kind: CreateTrial, Trial: created, Create: &next})
			counts[b].created++
			counts[b].running++
		}
	}
	if draws != nil {
		d.Drawn = draws.rand.Drawn()
	}
}

// hasPlace reports whether a bracket may create another trial. Trials with invalid hyperparameters
// are replaced, but a search creates at most twice its number of trials.
func (s *State) hasPlace(counts []count, b, created int) bool {
	running := 0
	for _, c := range counts {
		running += c.running
	}
	c, limit := counts[b], s.brackets[b]
	if s.config.MaxConcurrent > 0 && running >= s.config.MaxConcurrent {
		return false
	}
	return c.running < limit.Concurrent && c.created-c.replaced < limit.Trials && created < 2*s.totalTrials()
}

func (s *State) totalTrials() int {
	n := 0
	for _, b := range s.brackets {
		n += b.Trials
	}
	return n
}

// finishSearch ends the search when its last trial has ended and no trial is created.
func (s *State) finishSearch(d *Decision, in Input) {
	created := slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Kind == CreateTrial })
	if in.News != Ended || created || s.endedTrials()+1 < len(s.trials) {
		return
	}
	outcome := Completed
	for _, end := range []End{Failed, Canceled} {
		n := s.ends[end]
		if in.End == end {
			n++
		}
		if n == len(s.trials) {
			outcome = end
		}
	}
	d.Actions = append(d.Actions, Action{Kind: FinishSearch, Outcome: outcome, Reason: fmt.Sprintf("all %d trials have ended", len(s.trials))})
}
