package task

import (
	"testing"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestTextOfWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wait         wait
		text, detail string
	}{
		{wait{state: apiv1.Task_STATE_QUEUED, reason: "no slots are free", place: 3, queued: 12}, "Waiting: no slots are free", "3 of 12 in the queue, 1m2s"},
		{wait{state: apiv1.Task_STATE_QUEUED, queued: 900}, "Waiting", "900 in the queue, 1m2s"},
		{wait{state: apiv1.Task_STATE_PULLING}, "Pulling the image", "1m2s"},
		{wait{state: apiv1.Task_STATE_STARTING}, "Starting", "1m2s"},
		{wait{over: true}, "", "1m2s"},
	} {
		if text, detail := tt.wait.text(), tt.wait.detail(62*time.Second+time.Millisecond); text != tt.text || detail != tt.detail {
			t.Errorf("%+v: got %q and %q, want %q and %q", tt.wait, text, detail, tt.text, tt.detail)
		}
	}
}
