package search

// overhead reserves progress for trials that have not reached their last rung.
const overhead = 1.2

// Progress returns the progress of the search between 0 and 1. The function of returns the progress
// that the program of a trial reports. A search of which all trials failed or were canceled keeps the
// progress of its trials.
func (s *State) Progress(of func(trial int) float64) float64 {
	failed := s.outcome == Failed || s.outcome == Canceled
	switch {
	case s.outcome != "" && !failed:
		return 1
	case s.config.Halving():
		return s.halvingProgress()
	}
	var done float64
	for i, t := range s.trials {
		if t.ended && !failed {
			done++
		} else {
			done += min(max(of(i+1), 0), 1) // NaN is preserved and results in 0 below
		}
	}
	if done != done {
		return 0
	}
	return min(done/float64(s.totalTrials()+s.countReplaced()), 1)
}

func (s *State) countReplaced() int {
	n := 0
	for _, c := range s.counts {
		n += c.replaced
	}
	return n
}

// halvingProgress returns the share of trials that were compared at least once, averaged over
// brackets.
func (s *State) halvingProgress() float64 {
	var sum float64
	for i, b := range s.brackets {
		sum += min(float64(len(s.rungs[i][0]))/float64(b.Trials), 1)
	}
	return sum / float64(len(s.brackets)) / overhead
}
