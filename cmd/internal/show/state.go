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

// ExperimentState returns the state of an experiment.
func ExperimentState(x *apiv1.Experiment) string { return Enum(x.GetState(), "STATE_") }

// TrialState returns the state of a trial.
func TrialState(m *apiv1.Trial) string { return Enum(m.GetState(), "STATE_") }

// JobState returns the state of a job.
func JobState(j *apiv1.Job) string {
	word, _, _ := strings.Cut(Enum(j.GetSummary().GetState(), "STATE_"), " ") // backfilled ones are scheduled, too
	return word
}
