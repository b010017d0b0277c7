package experiment

import (
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestReachedStates(t *testing.T) {
	t.Parallel()
	for have, want := range map[apiv1.Experiment_State]string{
		apiv1.Experiment_STATE_QUEUED:             "",
		apiv1.Experiment_STATE_PAUSED:             "",
		apiv1.Experiment_STATE_RUNNING:            " running",
		apiv1.Experiment_STATE_STOPPING_COMPLETED: "",
		apiv1.Experiment_STATE_COMPLETED:          " ended running succeeded",
		apiv1.Experiment_STATE_ERROR:              " ended",
		apiv1.Experiment_STATE_CANCELED:           " ended",
	} {
		got := ""
		for _, state := range []string{ended, running, succeeded} {
			if hasReached(state, have) {
				got += " " + state
			}
		}
		if got != want {
			t.Errorf("%v: got %q, want %q", have, got, want)
		}
	}
}
