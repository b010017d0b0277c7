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
	// Asked is a user's request and the resulting state of the experiment.
	Asked Kind = "asked"
	// Changed is a setting that a user changed.
	Changed Kind = "changed"
	// Searched is an input of the search with the decision.
	Searched Kind = "searched"
	RunBegan Kind = "run_began"
	RunEnded Kind = "run_ended"
	// StateChanged is a change of the experiment's state that no user requested.
	StateChanged Kind = "state"
	Continued    Kind = "continued"
	// Reported is a report of a program other than metrics.
	Reported Kind = "reported"
)

// Event is an entry in the history of an experiment. The search is rebuilt from the events that have
// a search input.
type Event struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	// By is the user who caused the event; it is empty for the master, the search and programs.
	By   string `json:"by,omitempty"`
	Kind Kind   `json:"kind"`
	// Trial and Run identify the subject; they are 0 for events of the experiment.
	Trial int32 `json:"trial,omitempty"`
	Run   int   `json:"run,omitempty"`

	Request lifecycle.Request `json:"request,omitempty"`
	State   lifecycle.State   `json:"state,omitempty"`
	Cause   lifecycle.Cause   `json:"cause,omitempty"`
	Next    lifecycle.Verdict `json:"next,omitempty"`
	// Reason is a sentence for users.
	Reason string `json:"reason,omitempty"`

	Search *search.Event `json:"search,omitempty"`
	// Steps is the number of batches at the validation.
	Steps int32 `json:"steps,omitempty"`
	// Trials are the IDs of the trials that the search created, in the order of its actions.
	Trials []int32 `json:"trials,omitempty"`
}
