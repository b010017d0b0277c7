package term

import (
	"testing"
	"time"
)

func TestMeterText(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		done, total int64
		after       time.Duration
	}{
		"Sending files  ────────────   0%  0 B of 1.0 GiB":                           {0, 1 << 30, time.Second},
		"Sending files  ━━━━━━──────  50%  512 MiB of 1.0 GiB, 51.2 MiB/s, 10s left": {1 << 29, 1 << 30, 10 * time.Second},
		"Sending files  ━━━━━━━━━━━━ 100%  1.0 KiB of 1.0 KiB, 512 B/s":              {1 << 10, 1 << 10, 2 * time.Second},
		"Sending files  3.0 MiB, 1.5 MiB/s":                                          {3 << 20, 0, 2 * time.Second},
	} {
		if got := meterText("Sending files", tt.done, tt.total, tt.after); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMeterIsSilentWithoutTerminal(t *testing.T) {
	t.Parallel()
	s, _, out := Test("", false)
	m := s.NewMeter("Sending files")
	m.began = time.Now().Add(-time.Minute)
	m.Set(1, 2)
	m.Clear()
	if out.Len() > 0 {
		t.Errorf("got %q", out)
	}
}
