package search

import (
	"fmt"
	"slices"
)

// Decide says what follows from one input, and changes nothing. News that is repeated, that comes
// late, or that is about a trial that was stopped leads to nothing. The error is an input about a
// trial that does not exist, or before the start.
func (s *State) Decide(in Input) (Decision, error) {
	if err := s.checkInput(in); err != nil {
		return Decision{}, err
	}
	d := Decision{Drawn: s.rand.Drawn()}
	if s.isOld(in) {
		return d, nil
	}
	counts, first := slices.Clone(s.counts), 0
	if in.News != Started {
		first = s.trials[in.Trial-1].bracket
	}
	switch in.News {
	case Started:
	case Validated:
		d.Actions = s.decideValidated(in, &counts[first])
	case Ended:
		d.Actions = s.decideEnded(in, &counts[first])
	}
	s.fillPlaces(&d, counts, first)
	s.finishSearch(&d, in)
	return d, nil
}

func (s *State) checkInput(in Input) error {
	switch {
	case in.News == Started:
		return nil
	case in.News != Validated && in.News != Ended:
		return fmt.Errorf("decide the search: there is no news %q", in.News)
	case !s.hasTrial(in.Trial):
		return fmt.Errorf("decide the search: trial %d does not exist; there are %d", in.Trial, len(s.trials))
	case in.News == Validated:
		return nil
	}
	switch in.End {
	case Completed, Failed, Canceled, Invalid:
		return nil
	}
	return fmt.Errorf("decide the search: trial %d cannot end as %q", in.Trial, in.End)
}

// isOld says that nothing can follow from an input.
func (s *State) isOld(in Input) bool {
	if in.News == Started {
		return s.started
	}
	t := s.trials[in.Trial-1]
	return s.outcome != "" || t.ended || in.News == Validated && t.stopped
}

// decideValidated ranks a trial in each rung that it reached, until one stops it. Validations come
// when the program wants, so that it may have passed several at once.
func (s *State) decideValidated(in Input, c *count) []Action {
	var out []Action
	t := s.trials[in.Trial-1]
	rungs := s.brackets[t.bracket].Rungs
	for at := t.rung; at < len(rungs) && float64(in.Time) >= float64(rungs[at]); at++ {
		r := s.rankTrial(t, at, in)
		last := at == len(rungs)-1
		reason := r.describe()
		if last {
			reason = fmt.Sprintf("%s is %s of %d", r.Metric, formatOrdinal(r.Place), r.Of)
		}
		out = append(out, Action{Kind: RankTrial, Trial: in.Trial, Rank: &r, Reason: reason})
		if r.GoesOn {
			continue
		}
		c.running--
		return append(out, Action{Kind: StopTrial, Trial: in.Trial, Reason: s.stopReason(in, reason, last)})
	}
	return out
}

func (s *State) stopReason(in Input, reason string, last bool) string {
	if last {
		return fmt.Sprintf("done at %s %s: %s", in.Time, s.config.TimeMetric, reason)
	}
	return fmt.Sprintf("stopped at %s %s: %s", in.Time, s.config.TimeMetric, reason)
}

// decideEnded counts a trial that ended without having been stopped as the worst of the rung it
// was on its way to, unless it completed. One with impossible hyperparameters counts nowhere.
func (s *State) decideEnded(in Input, c *count) []Action {
	t := s.trials[in.Trial-1]
	if t.stopped {
		return nil
	}
	c.running--
	switch {
	case in.End == Invalid:
		if s.replacesInvalid() {
			c.replaced++
		}
		if t.rung > 0 {
			return []Action{{Kind: DropTrial, Trial: in.Trial, Reason: "its hyperparameters are impossible"}}
		}
	case in.End != Completed && t.rung < len(s.rungs[t.bracket]):
		r := s.rankWorst(t)
		return []Action{{Kind: RankTrial, Trial: in.Trial, Rank: &r, Reason: fmt.Sprintf("%s; it counts as the worst of %d", in.End, r.Of)}}
	}
	return nil
}

// replacesInvalid says whether trials with impossible hyperparameters are replaced: where they were
// drawn, others can be.
func (s *State) replacesInvalid() bool { return s.config.Method != Single && s.config.Method != Grid }
