package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/log"
)

// lines returns the log of a trial.
func (w *world) lines(trial int32) string {
	w.Helper()
	all, err := w.tasks.Log(w.Context(), log.Filter{Task: w.trial(trial).Task()}, false)
	if err != nil {
		w.Fatal(err)
	}
	var out strings.Builder
	for l, err := range all {
		if err != nil {
			w.Fatal(err)
		}
		out.WriteString(l.Text + "\n")
	}
	return out.String()
}

func TestTrialLogReportsRunEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.finish(1, 3)
	w.finish(1, 0)
	got := w.lines(1)
	for _, want := range []string{"run 1 of trial 1 ended", "this is restart 1 of 2", "run 2 of trial 1 ended", "its program completed"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("got\n%s\nwant %q once", got, want)
		}
	}
}

func TestSweepLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(grid)
	w.finish(1, 0)
	w.finish(2, 0)
	w.finish(3, 0)
	for trial, days := range map[int32]int{1: 10, 2: -1} {
		if err := w.x.RetainTrialLogs(t.Context(), ann(), trial, days); err != nil {
			t.Fatal(err)
		}
	}
	sweep := func(days int, want ...bool) {
		t.Helper()
		if err := w.x.SweepLogs(t.Context(), w.now.Add(time.Duration(days)*24*time.Hour), 5); err != nil {
			t.Fatal(err)
		}
		for i, left := range want {
			if got := w.lines(int32(i+1)) != ""; got != left {
				t.Errorf("after %d days, trial %d: got a log: %t, want %t", days, i+1, got, left)
			}
		}
	}
	sweep(4, true, true, true)
	sweep(6, true, true, false)
	sweep(11, false, true, false)
	if err := w.x.RetainLogs(t.Context(), ann(), 1, 20); err != nil {
		t.Fatal(err)
	}
	w.restart()
	sweep(21, false, false, false)
	if x := w.must(1); !x.LogsDropped {
		t.Error("a sweep would look at the experiment again, want it to be done")
	}
}
