// Package event is what an operation reports while it runs, to a person watching
// and to a program reading. It is a leaf: every package that carries out work imports it.
package event

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Schema names the version of the JSON form. Fields may be added under the same
// name; none is renamed or removed without a new one.
const Schema = "det-deploy.event/v1"

// Type says what happened.
type Type string

// The types of events. Each subject starts once, may progress, and ends once,
// done or failed.
//
//	Started ──▶ Progress … ──▶ Done
//	                      └──▶ Failed
const (
	// Started means that work on the subject began.
	Started Type = "started"
	// Progress is a sentence about work in progress.
	Progress Type = "progress"
	// Done means that the subject is as wanted.
	Done Type = "done"
	// Failed means that it is not, and Error says why.
	Failed Type = "failed"
)

// Scope says what kind of thing the subject is.
type Scope string

// The scopes of events.
const (
	// Phase is a stage of an operation: "lock the cluster".
	Phase Scope = "phase"
	// Step is one step of a plan; the subject is the resource.
	Step Scope = "step"
)

// Event is one line of an operation's progress.
type Event struct {
	// Schema is always Schema, so that a line can be read by itself.
	Schema string `json:"schema"`
	// Time is when it happened, in UTC.
	Time time.Time `json:"time"`
	// Type is started, progress, done or failed.
	Type Type `json:"type"`
	// Scope is phase or step.
	Scope Scope `json:"scope"`
	// Subject names the phase or the resource.
	Subject string `json:"subject"`
	// Verb is the step's verb: create, update, replace, delete.
	Verb string `json:"verb,omitempty"`
	// Message is a sentence for people, on progress.
	Message string `json:"message,omitempty"`
	// Took is the time since the start, on done and failed, in milliseconds.
	Took int64 `json:"took_ms,omitempty"`
	// Ended and Total count the steps that ended and that the plan has.
	Ended int `json:"ended,omitempty"`
	Total int `json:"total,omitempty"`
	// Error, Kind and Hint describe a failure: what happened, the kind of
	// refusal, and what to do next.
	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// Sink receives events one at a time. A sink must not block for long: work
// waits for it.
type Sink func(Event)

// Emit stamps e and passes it on. A nil sink drops it.
func (s Sink) Emit(e Event) {
	if s == nil {
		return
	}
	e.Schema = Schema
	e.Time = time.Now().UTC()
	s(e)
}

// Serial returns a sink that passes events from several goroutines to s one at
// a time.
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

// JSON returns a sink that writes one object a line to w. What the reader of a
// closed pipe misses does not stop the work.
func JSON(w io.Writer) Sink {
	enc := json.NewEncoder(w)
	return func(e Event) { _ = enc.Encode(e) } // see above: progress is told, never depended on
}
