package experiment

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

func (w *world) trialsNamed(text string, limit int) []string {
	w.Helper()
	list, err := w.x.TrialsNamed(w.Context(), text, limit)
	if err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprintf("%d=%d.%d", v.ID, v.Experiment, v.Position))
	}
	return out
}

// Names of trials are found alike in memory and, after the experiment has ended, in the store.
func TestTrialsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	x := w.create("name: many\nentrypoint: train\nsearcher: {name: grid, metric: loss, max_concurrent_trials: 12}\n" +
		"hyperparameters: {n: {type: int, minval: 1, maxval: 12, count: 12}}\nresources: {slots_per_trial: 0}\n")
	w.create(single)
	_, all := w.get(x.ID)
	task := all[4].Task()
	check := func(when string) {
		t.Helper()
		for _, tt := range []struct {
			text  string
			limit int
			want  []string
		}{
			{"2.1", 9, []string{"2=2.1", "11=2.10", "12=2.11", "13=2.12"}},
			{"2.1", 2, []string{"2=2.1", "11=2.10"}},
			{"2.5", 9, []string{"6=2.5"}},
			{"2.13", 9, nil},
			{"2.0", 9, nil},
			{"2.", 2, []string{"2=2.1", "3=2.2"}},
			{"2", 3, []string{"2=2.1", "2=2.1", "3=2.2"}},
			{"14", 3, []string{"14=3.1"}},
			{task, 9, []string{"6=2.5"}},
			{task[:16], 9, []string{"6=2.5"}},
			{"1" + task[1:16], 9, nil},
			{"9.1", 9, nil},
			{"99", 9, nil},
			{"train", 9, nil},
			{"", 3, []string{"14=3.1", "13=2.12", "12=2.11"}},
		} {
			if d := gocmp.Diff(w.trialsNamed(tt.text, tt.limit), tt.want); d != "" {
				t.Errorf("%s, %q (-got +want):\n%s", when, tt.text, d)
			}
		}
	}
	check("running")
	w.ask(x.ID, lifecycle.Kill)
	for _, trial := range all {
		if id := w.allocationOf(w.trial(trial.ID)); id != "" {
			w.endQuietly(id, "")
		}
	}
	w.reconcile()
	w.wantState(x.ID, lifecycle.Canceled)
	check("ended")
}

func TestTrialsAreNamedByEachOfTheirTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	w.exit(w.allocationOf(w.trial(1)), 0)
	w.wantState(1, lifecycle.Completed)
	if _, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: "max_restarts: 0\n"}); err != nil {
		t.Fatal(err)
	}
	tasks := w.trial(1).Tasks
	if len(tasks) != 2 {
		t.Fatalf("got the tasks %q, want two", tasks)
	}
	for _, text := range tasks {
		if got := w.trialsNamed(text, 9); !slices.Equal(got, []string{"1=1.1"}) {
			t.Errorf("%s: got %q", text, got)
		}
	}
}
