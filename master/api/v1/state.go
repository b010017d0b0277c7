package apiv1

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// StateWord returns the name of a state in lower case and without its prefix, such as "running" for
// STATE_RUNNING.
func StateWord(name string) string { return strings.ToLower(strings.TrimPrefix(name, "STATE_")) }

// Status is the state of a task in one word.
type Status string

// The statuses in the order in which a task reaches them. A paused task is queued again; a task ends with
// one of the last five.
const (
	StatusQueued    Status = "queued"
	StatusScheduled Status = "scheduled"
	StatusPulling   Status = "pulling"
	StatusStarting  Status = "starting"
	StatusRunning   Status = "running"
	StatusPaused    Status = "paused"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusKilled    Status = "killed"
	StatusPreempted Status = "preempted"
	StatusLost      Status = "lost"
)

// StatusStoppedEarly is the status of a trial that the search has stopped, because others are better.
const StatusStoppedEarly Status = "stopped_early"

// ShownStatus returns the status of an experiment in one word. An earlier master sends only its state.
func (x *Experiment) ShownStatus() string {
	return cmp.Or(x.GetStatus(), string(StatusOf(x.GetState().String())))
}

// ShownStatus returns the status of a trial in one word. An earlier master sends only its state.
func (x *Trial) ShownStatus() string {
	return cmp.Or(x.GetStatus(), string(StatusOf(x.GetState().String())))
}

// StatusOf returns the status of an experiment or a trial in a state of the API. States that tasks do not
// have keep their own word, such as paused. While it is stopping, it is still running.
func StatusOf(state string) Status {
	switch word := StateWord(state); word {
	case "completed":
		return StatusSucceeded
	case "error":
		return StatusFailed
	case "canceled":
		return StatusKilled
	case "active":
		return StatusQueued
	case "stopping_completed", "stopping_canceled", "stopping_killed", "stopping_error":
		return StatusRunning
	default:
		return Status(word)
	}
}

// StatesOf returns the states of experiments and trials with a status, without STATE_. ACTIVE is not one of
// them, because it selects all that have not ended.
func StatesOf(s Status) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(Experiment_State_value)) {
		if StatusOf(name) == s && name != Experiment_STATE_ACTIVE.String() {
			out = append(out, strings.TrimPrefix(name, "STATE_"))
		}
	}
	return out
}

// OpenStatuses returns the statuses of tasks that have not ended.
func OpenStatuses() []Status {
	return []Status{StatusQueued, StatusScheduled, StatusPulling, StatusStarting, StatusRunning, StatusPaused}
}

// EndStatuses returns the statuses of tasks that have ended.
func EndStatuses() []Status {
	return []Status{StatusSucceeded, StatusFailed, StatusKilled, StatusPreempted, StatusLost}
}
