package search

// Preview is what a search will be.
type Preview struct {
	// Trials is how many there will be, Concurrent how many run at once.
	Trials     int `json:"trials"`
	Concurrent int `json:"concurrent_trials"`
	// Groups is how far how many trials go, when each rung lets one in Divisor of those go on
	// that reach it.
	Groups []Group `json:"groups"`
	// First is the first trials with their hyperparameters.
	First []NewTrial `json:"first"`
}

// Group is how far a number of trials go.
type Group struct {
	Trials int `json:"trials"`
	// Units of the time metric; 0 is until the program ends by itself.
	Units uint64 `json:"units,omitempty"`
	Unit  string `json:"unit,omitempty"`
}

// Preview says what a search will be before it is one, with the hyperparameters of the first trials.
func (c Config) Preview(first int) (Preview, error) {
	s, err := New(c)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Trials: s.totalTrials(), First: s.firstTrials(first)}
	for _, b := range s.brackets {
		p.Concurrent += b.Concurrent
		p.Groups = append(p.Groups, c.groupTrials(b)...)
	}
	if c.MaxConcurrent > 0 {
		p.Concurrent = min(p.Concurrent, c.MaxConcurrent)
	}
	return p, nil
}

// groupTrials divides the trials of a bracket by the rung at which they end.
func (c Config) groupTrials(b Bracket) []Group {
	if len(b.Rungs) == 0 {
		return []Group{{Trials: b.Trials, Units: c.MaxTime, Unit: c.TimeMetric}}
	}
	var out []Group
	left := b.Trials
	for i, units := range b.Rungs {
		goOn := max(int(float64(left)/c.Divisor), 1)
		if i == len(b.Rungs)-1 {
			goOn = 0
		}
		if left > goOn {
			out = append(out, Group{Trials: left - goOn, Units: units, Unit: c.TimeMetric})
		}
		left = goOn
	}
	return out
}

// firstTrials are the first trials whatever becomes of any.
func (s *State) firstTrials(n int) []NewTrial {
	var out []NewTrial
	draws := s.Draws()
	for i := range min(n, s.totalTrials()) {
		out = append(out, draws.Next(0, i+1))
	}
	return out
}
