package link

import (
	"testing"
	"time"
)

func TestPingsComeOnAGridAndNeverLate(t *testing.T) {
	t.Parallel()
	base := time.Unix(1_000_000, 0)
	for _, tt := range []struct {
		after, most, want time.Duration
	}{
		{0, 9 * time.Second, 9 * time.Second},
		{50 * time.Millisecond, 9 * time.Second, 8950 * time.Millisecond},
		{199 * time.Millisecond, 8333 * time.Millisecond, 8201 * time.Millisecond},
		{0, time.Second, time.Second},
		{10 * time.Millisecond, time.Second, 990 * time.Millisecond},
		{10 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond}, // no time of the grid is as near
		{200 * time.Millisecond, time.Nanosecond, time.Nanosecond},
	} {
		now := base.Add(tt.after)
		got := pauseUntilPing(now, tt.most)
		if got != tt.want || got > tt.most || got <= 0 {
			t.Errorf("%v after a time of the grid, at most %v away: got %v, want %v", tt.after, tt.most, got, tt.want)
		}
	}
}
