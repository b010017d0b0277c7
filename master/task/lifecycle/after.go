package lifecycle

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Dependency is a task that must end before another one starts.
type Dependency struct {
	Task rm.TaskID `json:"task"`
	// Succeeded reports that it must also succeed.
	Succeeded bool `json:"succeeded,omitempty"`
}

// Outcome is how far a task is on which others depend.
type Outcome string

// Outcomes.
const (
	// Open tasks have not ended.
	Open      Outcome = "open"
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
	// Unknown is the outcome of an ended task that is no longer listed.
	Unknown Outcome = "unknown"
)

// OutcomeOf returns the outcome of a task with this last allocation.
func (t Task) OutcomeOf(last Allocation) Outcome {
	switch {
	case t.Ended.IsZero():
		return Open
	case last.End != nil && last.End.Status == Success:
		return Succeeded
	}
	return Failed
}

// JudgeAfter returns the dependencies that a task still waits for. Missed is the reason why it cannot start
// any more, or "".
func JudgeAfter(after []Dependency, outcome func(rm.TaskID) Outcome) (left []Dependency, missed string) {
	for _, d := range after {
		switch o := outcome(d.Task); {
		case o == Open:
			left = append(left, d)
		case d.Succeeded && o == Failed:
			return nil, fmt.Sprintf("task %s was to succeed before, and did not", d.Task)
		case d.Succeeded && o == Unknown:
			return nil, fmt.Sprintf("task %s was to succeed before, and its result is no longer known", d.Task)
		}
	}
	return left, ""
}

// AfterNote describes after which tasks one starts, or returns "".
func AfterNote(after []Dependency) string {
	if len(after) == 0 {
		return ""
	}
	end := "end"
	if after[0].Succeeded {
		end = "success"
	}
	note := fmt.Sprintf("starts after the %s of task %s", end, after[0].Task)
	if more := len(after) - 1; more > 0 {
		note += fmt.Sprintf(" and %d more", more)
	}
	return note
}
