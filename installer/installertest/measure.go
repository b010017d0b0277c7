package installertest

import (
	"testing"
	"time"
)

// Part is a part of what `up` does.
type Part struct {
	Name string
	Do   func() error
}

// LogParts does the parts of `up` in turn, and logs how long each takes: in seconds, and in
// calls of some length that wait for each other. test/bench/up shows what is logged.
func LogParts(t testing.TB, call time.Duration, parts ...Part) {
	t.Helper()
	began := time.Now()
	for _, p := range parts {
		start := time.Now()
		if err := p.Do(); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		d := time.Since(start)
		t.Logf("up, %-7s %5.1f s, as long as %2d calls of %s", p.Name, d.Seconds(), d/call, call)
	}
	t.Logf("up, in all  %5.1f s", time.Since(began).Seconds())
}
