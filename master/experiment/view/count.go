package view

import (
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
)

// Count is how many experiments there are by the state that they are shown in, without
// STATE_ and in small letters, and how many trials they have, open ones and ended ones.
func (e *Experiments) Count() (states map[string]int, open, ended int) {
	states = map[string]int{}
	for _, name := range apiv1.Experiment_State_name {
		states[strings.ToLower(strings.TrimPrefix(name, "STATE_"))] = 0
	}
	// Deleted ones are gone, and active ones are shown as what they do.
	for _, never := range []string{"unspecified", "active", "deleted"} {
		delete(states, never)
	}
	for _, x := range e.cfg.Experiments.Rows(experiment.Filter{}) {
		states[strings.ToLower(x.Shown())]++
		open += x.Open
		ended += x.Trials - x.Open
	}
	return states, open, ended
}
