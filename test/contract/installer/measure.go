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
	// Most is how many calls may wait for each other in it; 0 is any number.
	Most int
}

// Path is a command whose calls wait for each other, in a cloud that answers each after
// as long as Call.
type Path struct {
	Command string
	Call    time.Duration
	Journal func() []faults.Entry
	// Most is how many calls may wait for each other in all; 0 is any number.
	Most int
}

// Measure does the parts of a command in turn, and logs how long each takes: in seconds,
// and in calls that wait for each other. It logs which calls were answered when, too.
// test/bench/up shows what is logged. A part with too many calls fails the test.
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

// logTrace logs the calls by when they were answered: those of a line went side by side.
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
