package search

// overhead is what a search that stops trials keeps for those that are on their way up.
const overhead = 1.2

// Progress is how much of the search is done, from 0 to 1. of is how much of a running trial is
// done, as its program reports it.
func (s *State) Progress(of func(trial int) float64) float64 {
	if s.outcome != "" {
		return 1
	}
	if s.config.Halving() {
		return s.halvingProgress()
	}
	var done float64
	for i, t := range s.trials {
		if t.ended {
			done++
		} else {
			done += min(max(of(i+1), 0), 1) // NaN stays, and is no progress
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

// halvingProgress is the trials that were compared at least once, bracket by bracket.
func (s *State) halvingProgress() float64 {
	var sum float64
	for i, b := range s.brackets {
		sum += min(float64(len(s.rungs[i][0]))/float64(b.Trials), 1)
	}
	return sum / float64(len(s.brackets)) / overhead
}
