// Package event defines the progress events of an operation, for display and for programs. It
// imports no package that does work, because all of those import it.
package event

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Schema names the version of the JSON format. Fields may be added to a version, but are not
// renamed or removed.
const Schema = "det-deploy.event/v1"

// Type is the kind of an event.
type Type string

// The types of events. Each subject starts once, may progress, and ends once,
// done or failed.
//
//	Started ──▶ Progress … ──▶ Done
//	                      └──▶ Failed
const (
	// Started reports that work on the subject began.
	Started Type = "started"
	// Progress carries a message about work in progress.
	Progress Type = "progress"
	// Done reports success.
	Done Type = "done"
	// Failed reports a failure, which Error describes.
	Failed Type = "failed"
)

// Scope is the kind of the subject.
type Scope string

// The scopes of events.
const (
	// Phase is a stage of an operation, such as "lock the cluster".
	Phase Scope = "phase"
	// Step is one step of a plan; the subject is the resource.
	Step Scope = "step"
)

// Event is one line of an operation's progress.
type Event struct {
	// Schema is always the constant Schema, so that each line is self-contained.
	Schema string `json:"schema"`
	// Time is the time of the event in UTC.
	Time time.Time `json:"time"`
	// Type is one of started, progress, done and failed.
	Type Type `json:"type"`
	// Scope is phase or step.
	Scope Scope `json:"scope"`
	// Subject names the phase or the resource.
	Subject string `json:"subject"`
	// Verb is the step's verb: create, update, replace, delete.
	Verb string `json:"verb,omitempty"`
	// Message describes the progress to a user.
	Message string `json:"message,omitempty"`
	// Took is the time since the start in milliseconds, for done and failed.
	Took int64 `json:"took_ms,omitempty"`
	// Ended is the number of steps that have ended, and Total that of all steps of the plan.
	Ended int `json:"ended,omitempty"`
	Total int `json:"total,omitempty"`
	// Error, Kind and Hint describe a failure: the error, the kind of refusal, and a remedy.
	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// Sink receives events one at a time. It must not block for long, because the work waits for it.
type Sink func(Event)

// Emit adds the schema and time to e and calls s. A nil sink drops it.
func (s Sink) Emit(e Event) {
	if s == nil {
		return
	}
	e.Schema = Schema
	e.Time = time.Now().UTC()
	s(e)
}

// Serial returns a sink that serializes the calls of s.
func Serial(s Sink) Sink {
	if s == nil {
		return nil
	}
	var mu sync.Mutex // guards the calls of s
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		s(e)
	}
}

// JSON returns a sink that writes one JSON object per line to w. It ignores errors, so that a
// closed pipe does not stop the work.
func JSON(w io.Writer) Sink {
	enc := json.NewEncoder(w)
	return func(e Event) { _ = enc.Encode(e) } // progress is optional, see above
}
