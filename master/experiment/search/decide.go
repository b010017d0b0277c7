package search

import (
	"fmt"
	"slices"
)

// Decide returns the decision for an input without changing the state. Inputs that are repeated,
// late or about a stopped trial lead to an empty decision. It returns an error if the trial does not
// exist or the input has an unknown kind.
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
		return fmt.Errorf("decide the search: unknown input %q", in.News)
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

// isOld reports whether an input no longer has any effect.
func (s *State) isOld(in Input) bool {
	if in.News == Started {
		return s.started
	}
	t := s.trials[in.Trial-1]
	return s.outcome != "" || t.ended || in.News == Validated && t.stopped
}

// decideValidated ranks a trial in each rung that it has reached until a rank stops it. It may reach
// several rungs at once, because the program decides when it validates.
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
		return append(out, Action{Kind: StopTrial, Trial: in.Trial, Full: last, Reason: s.stopReason(in, reason, last)})
	}
	return out
}

func (s *State) stopReason(in Input, reason string, last bool) string {
	if last {
		return fmt.Sprintf("done at %s %s: %s", in.Time, s.config.TimeMetric, reason)
	}
	return fmt.Sprintf("stopped at %s %s: %s", in.Time, s.config.TimeMetric, reason)
}

// decideEnded ranks a trial that ended before its next rung as the worst of that rung. Completed and
// stopped trials are not ranked, and trials with invalid hyperparameters are removed from all rungs.
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
			return []Action{{Kind: DropTrial, Trial: in.Trial, Reason: "invalid hyperparameters"}}
		}
	case in.End != Completed && t.rung < len(s.rungs[t.bracket]):
		r := s.rankWorst(t)
		return []Action{{Kind: RankTrial, Trial: in.Trial, Rank: &r, Reason: fmt.Sprintf("%s; it counts as the worst of %d", in.End, r.Of)}}
	}
	return nil
}

// replacesInvalid reports whether trials with invalid hyperparameters are replaced. This requires a
// method that draws random values.
func (s *State) replacesInvalid() bool { return s.config.Method != Single && s.config.Method != Grid }
