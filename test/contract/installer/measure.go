package installertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Part is a part of a command.
type Part struct {
	Name string
	Do   func() error
	// Most limits its number of sequential calls; 0 is no limit.
	Most int
}

// Path measures the sequential calls of a command, in a cloud that answers each after the time
// Call.
type Path struct {
	Command string
	Call    time.Duration
	Journal func() []faults.Entry
	// Most limits the number of sequential calls of all parts; 0 is no limit.
	Most int
}

// Measure runs the parts of a command in turn and logs the duration of each, in seconds and in
// sequential calls, and the time at which each call was answered. test/bench/up prints this log. A
// part with too many calls fails the test.
func (p Path) Measure(t testing.TB, parts ...Part) {
	t.Helper()
	began := time.Now()
	for _, part := range parts {
		start, before := time.Now(), len(p.Journal())
		if err := part.Do(); err != nil {
			t.Fatalf("%s: %v", part.Name, err)
		}
		calls := p.logPart(t, part.Name, time.Since(start))
		if part.Most > 0 && calls > part.Most {
			t.Errorf("%s, %s: got %d calls that wait for each other, want at most %d", p.Command, part.Name, calls, part.Most)
		}
		p.logTrace(t, start, p.Journal()[before:])
	}
	if calls := p.logPart(t, "in all", time.Since(began)); p.Most > 0 && calls > p.Most {
		t.Errorf("%s: got %d calls that wait for each other, want at most %d", p.Command, calls, p.Most)
	}
}

func (p Path) logPart(t testing.TB, name string, took time.Duration) int {
	t.Helper()
	calls := int((took + p.Call - 1) / p.Call)
	t.Logf("%s, %-8s %5.1f s, as long as %2d calls of %s", p.Command, name, took.Seconds(), calls, p.Call)
	return calls
}

// logTrace logs the calls by the time of their answers: the calls of one line were concurrent.
func (p Path) logTrace(t testing.TB, start time.Time, calls []faults.Entry) {
	t.Helper()
	at := map[time.Duration][]string{}
	var moments []time.Duration
	for _, c := range calls {
		d := c.At.Sub(start)
		if at[d] == nil {
			moments = append(moments, d)
		}
		what := c.Op
		if c.Code != "" {
			what += "(" + c.Code + ")"
		}
		at[d] = append(at[d], what)
	}
	slices.Sort(moments)
	for _, d := range moments {
		slices.Sort(at[d])
		t.Logf("trace, %5.1f s, %2d side by side: %s", d.Seconds(), len(at[d]), strings.Join(at[d], " "))
	}
}
