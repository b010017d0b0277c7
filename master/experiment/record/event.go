package record

import (
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Kind is a kind of event.
type Kind string

// The kinds of events.
const (
	Created Kind = "created"
	// Asked is a request of a user, and what became of the experiment's state.
	Asked Kind = "asked"
	// Changed is a setting that a user changed.
	Changed Kind = "changed"
	// Searched is news of the search with its decision.
	Searched Kind = "searched"
	RunBegan Kind = "run_began"
	RunEnded Kind = "run_ended"
	// StateChanged is an experiment's state that changed without anybody asking.
	StateChanged Kind = "state"
	Continued    Kind = "continued"
	// Reported is what a program said of itself beside metrics.
	Reported Kind = "reported"
)

// Event is one fact in the life of an experiment. The search is rebuilt from those that have one of
// its inputs.
type Event struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	// By is the user who did it, empty for the master, the search and programs.
	By   string `json:"by,omitempty"`
	Kind Kind   `json:"kind"`
	// Trial and Run are what it is about, 0 for the experiment.
	Trial int32 `json:"trial,omitempty"`
	Run   int   `json:"run,omitempty"`

	Request lifecycle.Request `json:"request,omitempty"`
	State   lifecycle.State   `json:"state,omitempty"`
	Cause   lifecycle.Cause   `json:"cause,omitempty"`
	Next    lifecycle.Verdict `json:"next,omitempty"`
	// Reason is in words.
	Reason string `json:"reason,omitempty"`

	Search *search.Event `json:"search,omitempty"`
	// Steps is where the validation was.
	Steps int32 `json:"steps,omitempty"`
	// Trials are the ids of the trials that the search created, in the order of its actions.
	Trials []int32 `json:"trials,omitempty"`
}
