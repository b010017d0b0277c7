package experiment

import (
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestRequestsThatChangeNothing(t *testing.T) {
	t.Parallel()
	in := func(s apiv1.Experiment_State) *apiv1.Experiment { return &apiv1.Experiment{State: s} }
	for _, tt := range []struct {
		verb string
		x    *apiv1.Experiment
		want string
	}{
		{"kill", in(apiv1.Experiment_STATE_COMPLETED), "has already ended (succeeded)"},
		{"kill", in(apiv1.Experiment_STATE_RUNNING), ""},
		{"kill", in(apiv1.Experiment_STATE_STOPPING_CANCELED), ""},
		{"cancel", in(apiv1.Experiment_STATE_ERROR), "has already ended (failed)"},
		{"cancel", in(apiv1.Experiment_STATE_PAUSED), ""},
		{"pause", in(apiv1.Experiment_STATE_PAUSED), "is already paused"},
		{"pause", in(apiv1.Experiment_STATE_QUEUED), ""},
		{"activate", in(apiv1.Experiment_STATE_QUEUED), "is already active (queued)"},
		{"activate", in(apiv1.Experiment_STATE_PAUSED), ""},
		{"archive", &apiv1.Experiment{Archived: true}, "is already archived"},
		{"archive", in(apiv1.Experiment_STATE_COMPLETED), ""},
		{"unarchive", in(apiv1.Experiment_STATE_COMPLETED), "is not archived"},
		{"unarchive", &apiv1.Experiment{Archived: true}, ""},
		{"delete", in(apiv1.Experiment_STATE_DELETING), "is already being deleted"},
		{"delete", in(apiv1.Experiment_STATE_COMPLETED), ""},
		{"unarchive", nil, ""}, // it could not be read
	} {
		if got := unchanged(tt.verb, tt.x); got != tt.want {
			t.Errorf("%s of %v: got %q, want %q", tt.verb, tt.x, got, tt.want)
		}
	}
}
