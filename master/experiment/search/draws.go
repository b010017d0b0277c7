package search

import "github.com/det-deploy/det-deploy/master/experiment/hparam"

// NewTrial is a new trial with its hyperparameters.
type NewTrial struct {
	Create

	Values map[string]any `json:"hparams"`
}

// Draws draws the trials that a search creates next. The same state always yields the same trials.
type Draws struct {
	config Config
	total  int
	rand   *hparam.Generator
}

// Draws returns the draws for the next decision.
func (s *State) Draws() *Draws {
	return &Draws{config: s.config, total: s.totalTrials(), rand: s.rand.Clone()}
}

// Clone returns draws with the same state.
func (d *Draws) Clone() *Draws { return &Draws{config: d.config, total: d.total, rand: d.rand.Clone()} }

// Next draws the next trial. The number is its position in the search.
func (d *Draws) Next(bracket, number int) NewTrial {
	t := NewTrial{Create: Create{Bracket: bracket}}
	if d.config.Method == Grid { // from the last point, as in Determined 0.38.1
		t.Values = d.config.Space.Point(d.total - number)
	} else {
		t.Values = d.config.Space.Draw(d.rand)
	}
	t.RequestID, t.Seed = d.rand.DrawID(), d.rand.DrawSeed()
	return t
}
