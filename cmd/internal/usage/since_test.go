package usage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

func TestSince(t *testing.T) {
	t.Parallel()
	here := time.FixedZone("here", 3600)
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, here)
	for text, want := range map[string]time.Time{
		"":                     {},
		"30m":                  now.Add(-30 * time.Minute),
		"1d":                   now.Add(-24 * time.Hour),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, here),
		"2026-03-01T00:00:00Z": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := usage.Since(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-1h", "0d", "-1d", "d", "1day", "999999999d", "yesterday"} {
		if got, err := usage.Since(text, now); err == nil || !strings.Contains(err.Error(), "must be a duration") {
			t.Errorf("%q: got %v, %v, want an error", text, got, err)
		}
	}
}
