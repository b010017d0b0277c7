package agentrm

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

func TestClockSetBackDoesNotExtendDeadline(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for left, want := range map[time.Duration]time.Duration{-time.Hour: -time.Hour, time.Second: time.Second, time.Minute: time.Minute, 25 * time.Hour: time.Minute} {
		stored := &release{Cause: rm.CausePreempted, By: now.Add(left)}
		if got := stored.boundTime(now, time.Minute).By.Sub(now); got != want {
			t.Errorf("%v are left of a minute: got %v, want %v", left, got, want)
		}
	}
	if taken := (&release{Cause: rm.CauseAgentLost, By: now.Add(time.Hour)}).boundTime(now, time.Minute); taken.By != now.Add(time.Hour) {
		t.Errorf("got the deadline of an interruption moved to %v", taken.By)
	}
	if (*release)(nil).boundTime(now, time.Minute) != nil {
		t.Error("nothing has become a release")
	}
}
