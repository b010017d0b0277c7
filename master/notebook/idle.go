package notebook

import (
	"time"

	"github.com/det-deploy/det-deploy/master/task/spec"
)

// seen is the use of a notebook at one moment.
type seen struct {
	Kernels   []kernel
	Terminals []terminal
}

// kernel and terminal are as in Jupyter's API.
type kernel struct {
	State       string    `json:"execution_state"`
	Connections int       `json:"connections"`
	Active      time.Time `json:"last_activity"`
}

type terminal struct {
	Active time.Time `json:"last_activity"`
}

// lastUse returns when the notebook was last used; zero if that is not known.
func (s seen) lastUse(t spec.IdleType, now time.Time) time.Time {
	var latest time.Time
	for _, k := range s.Kernels {
		switch {
		case t == spec.KernelsOrTerminals, t == spec.KernelConnections && k.Connections > 0, t == spec.Activity && k.State == "busy":
			return now
		case t == spec.Activity && k.Active.After(latest):
			latest = k.Active
		}
	}
	for _, term := range s.Terminals {
		switch {
		case t == spec.KernelsOrTerminals:
			return now
		case t == spec.Activity && term.Active.After(latest):
			latest = term.Active
		}
	}
	if latest.After(now) { // by the clock of its machine
		return now
	}
	return latest
}
