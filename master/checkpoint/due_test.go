package checkpoint

import (
	"testing"
	"time"
)

func TestDueInAfterClockChange(t *testing.T) {
	t.Parallel()
	due := time.Unix(1_700_000_000, 0)
	for ago, want := range map[time.Duration]time.Duration{
		0: 0, time.Second: time.Second, time.Hour: time.Hour, 25 * time.Hour: 0, -time.Hour: 0,
	} {
		if got := (Deletion{Due: due}).dueIn(due.Add(-ago)); got != want {
			t.Errorf("%v before it is due: it waits %v, want %v", ago, got, want)
		}
	}
}
