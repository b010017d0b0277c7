package link

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestAgentWithFullQueueIsDisconnected(t *testing.T) {
	t.Parallel()
	l := New("", Limits{Queue: 2}, func(err error) {
		if !errors.Is(err, errSlow) {
			t.Errorf("got %v, want it dropped for being slow", err)
		}
	})
	for range 3 {
		l.Send(&agentv1.MasterMessage{})
	}
	if len(l.queue) != 2 {
		t.Errorf("got %d messages waiting, want 2", len(l.queue))
	}
}
