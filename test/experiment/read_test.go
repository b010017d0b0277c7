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

// experiment is an experiment in the API.
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

// call sends a request to the API with the client's token.
func (l *lab) call(path string, into any) {
	l.t.Helper()
	l.api().Call(l.t, path, into)
}

func (l *lab) api() dettest.API { return dettest.API{URL: l.URL, Token: l.token} }

// stream calls take with each line of a streamed response.
func (l *lab) stream(path string, take func(line []byte)) {
	l.t.Helper()
	for line := range bytes.Lines(l.api().Read(l.t, path)) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			take(line)
		}
	}
}

// describe returns an experiment with its trials.
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

// history returns the history of an experiment's states.
func (l *lab) history(id string) string {
	out, _ := l.Try("experiment", "history", id)
	return out
}

// logs returns the logs of an experiment's trials.
func (l *lab) logs(e experiment) string {
	var out strings.Builder
	for _, t := range e.Trials {
		text, err := l.det.Exec("", "trial", "logs", fmt.Sprint(t.ID))
		fmt.Fprintf(&out, "---- trial %d (%v)\n%s", t.ID, err, text)
	}
	return out.String()
}

// validations returns the steps of a trial's validations, in the order of the response.
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

// wantOnce reports an error if a step was counted twice.
func (l *lab) wantOnce(t trial) {
	l.t.Helper()
	steps := l.validations(t.ID)
	slices.Sort(steps)
	if len(slices.Compact(slices.Clone(steps))) != len(steps) {
		l.t.Errorf("trial %d: got validations at %d, want each once", t.ID, steps)
	}
}

// steps returns the steps of a trial's reports in a group, in their order.
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
