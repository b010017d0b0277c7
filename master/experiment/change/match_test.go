package change

import (
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// matchesOf records matches of log lines of a run. It returns the resulting match and the number of
// events.
func matchesOf(list ...record.Match) (record.Match, int) {
	x := &Experiment{byID: map[int32]int{}, byTask: map[string]int{}}
	x.addTrial(record.Trial{ID: 1, Tasks: []string{"1.a"}, Life: lifecycle.Trial{State: lifecycle.Active, Run: 2, Running: true}})
	d := x.Draft(time.Time{}, nil)
	for _, m := range list {
		d.Runs().Match(1, m)
	}
	t, _ := d.Trial(1)
	if t.Matched == nil {
		return record.Match{}, len(d.Events)
	}
	return *t.Matched, len(d.Events)
}

func TestMatchesExcludeAllMachines(t *testing.T) {
	t.Parallel()
	of := func(nodes ...string) record.Match { return record.Match{Policy: "hardware", Run: 2, Excluded: nodes} }
	for _, c := range []struct {
		name    string
		matches []record.Match
		nodes   []string
		noRetry bool
		events  int
	}{
		{"two machines", []record.Match{of("a"), of("b")}, []string{"a", "b"}, false, 2},
		{"told again after a restart", []record.Match{of("a"), of("b"), of("a")}, []string{"a", "b"}, false, 2},
		{"another policy beside it", []record.Match{of("a"), {Policy: "memory", Run: 2, NoRetry: true}, of("b")}, []string{"a", "b"}, true, 3},
		{"of an earlier run", []record.Match{{Policy: "hardware", Run: 1, Excluded: []string{"z"}}}, nil, false, 0},
	} {
		got, events := matchesOf(c.matches...)
		if !slices.Equal(got.Excluded, c.nodes) || got.NoRetry != c.noRetry || events != c.events {
			t.Errorf("%s: got %+v with %d events, want %v", c.name, got, events, c)
		}
	}
}
