package show

import (
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// TaskState returns the state of a task in one word. A master of an earlier version sends only the state of
// Determined's API.
func TaskState(c *apiv1.Command) string {
	if c.Status == nil {
		return Enum(c.GetState(), "STATE_")
	}
	return c.GetStatus()
}

// ExperimentState returns the state of an experiment in one word.
func ExperimentState(x *apiv1.Experiment) string {
	return inWords(x.ShownStatus())
}

// TrialState returns the state of a trial in one word, or "stopped early".
func TrialState(m *apiv1.Trial) string {
	return inWords(m.ShownStatus())
}

// inWords returns the words of a state as people write them.
func inWords(state string) string { return strings.ReplaceAll(state, "_", " ") }

// JobState returns the state of a job.
func JobState(j *apiv1.Job) string {
	word, _, _ := strings.Cut(Enum(j.GetSummary().GetState(), "STATE_"), " ") // backfilled ones are scheduled, too
	return word
}
