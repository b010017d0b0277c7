package experiment_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// experiment is what det tells of one.
type experiment struct {
	State  string  `json:"state"`
	Trials []trial `json:"trials"`
}

type trial struct {
	ID         int    `json:"id"`
	State      string `json:"state"`
	Restarts   int    `json:"restarts"`
	RunID      int    `json:"runId"`
	TaskIDs    []string
	TotalSteps int `json:"totalBatchesProcessed"`
}

// call asks the API with the client's token.
func (l *lab) call(path string, into any) {
	l.t.Helper()
	l.api().Call(l.t, path, into)
}

func (l *lab) api() dettest.API { return dettest.API{URL: l.URL, Token: l.token} }

// stream asks for an answer of many lines.
func (l *lab) stream(path string, take func(line []byte)) {
	l.t.Helper()
	for line := range bytes.Lines(l.api().Read(l.t, path)) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			take(line)
		}
	}
}

// describe is an experiment with its trials.
func (l *lab) describe(id string) experiment {
	l.t.Helper()
	var out struct{ Experiment experiment }
	l.call("experiments/"+id, &out)
	l.call("experiments/"+id+"/trials?limit=1000", &out.Experiment)
	return out.Experiment
}

// await waits until an experiment is in a state.
func (l *lab) await(id, state string) experiment {
	l.t.Helper()
	var e experiment
	l.Eventually("experiment "+id+" is "+state, patience, func() error {
		e = l.describe(id)
		if e.State == "STATE_ERROR" && state != "ERROR" {
			l.t.Fatalf("experiment %s failed:\n%s\n%s", id, l.history(id), l.logs(e))
		}
		if e.State != "STATE_"+state {
			return errors.New(e.State + "\n" + l.history(id))
		}
		return nil
	})
	return e
}

// history is why an experiment is where it is.
func (l *lab) history(id string) string {
	out, _ := l.Try("experiment", "history", id)
	return out
}

// logs is what the trials of an experiment wrote.
func (l *lab) logs(e experiment) string {
	var out strings.Builder
	for _, t := range e.Trials {
		text, err := l.det.Exec("", "trial", "logs", fmt.Sprint(t.ID))
		fmt.Fprintf(&out, "---- trial %d (%v)\n%s", t.ID, err, text)
	}
	return out.String()
}

// validations is the steps at which a trial reported a validation, in the order of the
// answer.
func (l *lab) validations(trial int) []int {
	l.t.Helper()
	var out struct {
		Workloads []struct{ Validation *struct{ TotalBatches int } }
	}
	l.call(fmt.Sprintf("trials/%d/workloads?limit=1000&filter=FILTER_OPTION_VALIDATION", trial), &out)
	var steps []int
	for _, w := range out.Workloads {
		if w.Validation != nil {
			steps = append(steps, w.Validation.TotalBatches)
		}
	}
	return steps
}

// wantOnce fails for a step that was counted twice.
func (l *lab) wantOnce(t trial) {
	l.t.Helper()
	steps := l.validations(t.ID)
	slices.Sort(steps)
	if len(slices.Compact(slices.Clone(steps))) != len(steps) {
		l.t.Errorf("trial %d: got validations at %d, want each once", t.ID, steps)
	}
}

// steps is the steps at which a trial reported in a group, in their order.
func (l *lab) steps(trial int, group string) []int {
	l.t.Helper()
	var steps []int
	l.stream(fmt.Sprintf("trials/metrics/trial_metrics?trialIds=%d&group=%s", trial, group), func(line []byte) {
		var out struct {
			Result struct{ Metrics []struct{ TotalBatches int } }
		}
		if err := json.Unmarshal(line, &out); err != nil {
			l.t.Fatalf("%v in %s", err, line)
		}
		for _, m := range out.Result.Metrics {
			steps = append(steps, m.TotalBatches)
		}
	})
	slices.Sort(steps)
	return steps
}
