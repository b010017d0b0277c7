package apiv1

import "strings"

// StateWord returns the name of a state in lower case and without its prefix, such as "running" for
// STATE_RUNNING.
func StateWord(name string) string { return strings.ToLower(strings.TrimPrefix(name, "STATE_")) }

// Status is the state of a task in one word.
type Status string

// The statuses in the order in which a task reaches them. A task ends with one of the last five.
const (
	StatusQueued    Status = "queued"
	StatusScheduled Status = "scheduled"
	StatusPulling   Status = "pulling"
	StatusStarting  Status = "starting"
	StatusRunning   Status = "running"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusKilled    Status = "killed"
	StatusPreempted Status = "preempted"
	StatusLost      Status = "lost"
)

// OpenStatuses returns the statuses of tasks that have not ended.
func OpenStatuses() []Status {
	return []Status{StatusQueued, StatusScheduled, StatusPulling, StatusStarting, StatusRunning}
}

// EndStatuses returns the statuses of tasks that have ended.
func EndStatuses() []Status {
	return []Status{StatusSucceeded, StatusFailed, StatusKilled, StatusPreempted, StatusLost}
}
