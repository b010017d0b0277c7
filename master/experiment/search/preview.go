package search

// Preview is the expected course of a search.
type Preview struct {
	// Trials is the number of trials, Concurrent the limit of those that run at once.
	Trials     int `json:"trials"`
	Concurrent int `json:"concurrent_trials"`
	// Groups lists the number of trials for each length, if one in Divisor trials continues at each
	// rung.
	Groups []Group `json:"groups"`
	// First holds the first trials with their hyperparameters.
	First []NewTrial `json:"first"`
}

// Group is a number of trials of the same length.
type Group struct {
	Trials int `json:"trials"`
	// Units is the length in units of the time metric, 0 if the program ends by itself.
	Units uint64 `json:"units,omitempty"`
	Unit  string `json:"unit,omitempty"`
}

// Preview returns the expected course of the search with the hyperparameters of the first trials. It
// returns an error if the configuration is invalid.
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

// groupTrials groups the trials of a bracket by the rung at which they end.
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

// firstTrials returns the first trials. They do not depend on the results of others.
func (s *State) firstTrials(n int) []NewTrial {
	var out []NewTrial
	draws := s.Draws()
	for i := range min(n, s.totalTrials()) {
		out = append(out, draws.Next(0, i+1))
	}
	return out
}
