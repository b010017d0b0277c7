package change

import (
	"iter"

	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// drawn is a decision of the search with the draws of the trials that it creates. The IDs are in the
// order of its actions.
type drawn struct {
	from    *search.Draws
	actions []search.Action
	ids     []int32
}

// Hparams returns the hyperparameters of the trials that the draft creates. It draws them one trial
// at a time, so that only those of one trial are in memory.
func (d *Draft) Hparams() iter.Seq2[int32, map[string]any] {
	return func(yield func(int32, map[string]any) bool) {
		for _, id := range d.trials.created {
			if values, found := d.given[id]; found && !yield(id, values) {
				return
			}
		}
		for _, one := range d.decisions.drawn {
			if !one.each(yield) {
				return
			}
		}
	}
}

func (n drawn) each(yield func(int32, map[string]any) bool) bool {
	draws, at := n.from.Clone(), 0
	for _, a := range n.actions {
		if a.Kind != search.CreateTrial {
			continue
		}
		if !yield(n.ids[at], draws.Next(a.Create.Bracket, a.Trial).Values) {
			return false
		}
		at++
	}
	return true
}
