package experiment

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestDescribeDeletions(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	for want, waiting := range map[string][]*apiv1.CheckpointDeletion{
		"":                 nil,
		"waits for task a": {{TaskId: "a"}},
		"waits for task a; task b failed 2 times (no such bucket), next attempt at 2026-01-02 03:04:05": {
			{TaskId: "a"}, {TaskId: "b", Tries: 2, Failure: "no such bucket", DueTime: timestamppb.New(due)},
		},
	} {
		if got := describeDeletions(waiting); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
