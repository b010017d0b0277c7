package experiment_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/faultproxy"
	"github.com/det-deploy/det-deploy/test/rest"
)

// identity matches the IDs in a path.
var identity = regexp.MustCompile(`/(\d+(\.[0-9a-f-]+)*|[0-9a-f]{8}-[0-9a-f-]{27})(\.\d+)?(/|$)`)

// nameCall returns the method and the route of a program's call.
func nameCall(r *http.Request) string {
	return r.Method + " " + identity.ReplaceAllString(identity.ReplaceAllString(r.URL.Path, "/*$4"), "/*$4")
}

// TestEachCallSurvivesLostResponse forwards every call to the master and drops the response to the
// first of each kind: the library repeats it.
func TestEachCallSurvivesLostResponse(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	l := openLab(t, options{proxied: true})
	for _, tt := range []struct {
		effect faultproxy.Effect
		// settings are required for the fault.
		settings []string
	}{
		{faultproxy.Lose(), nil},
		{faultproxy.LoseBehind(http.StatusBadGateway), []string{"environment={environment_variables: ['" + retry502 + "']}"}},
	} {
		before := len(l.proxy.Calls())
		remove := l.proxy.Add(faultproxy.Rule{Each: true, Count: 1, Effect: tt.effect})
		l.wantEachOnce(l.createIn(filepath.Join("testdata", "every-call"), "both.yaml", tt.settings...))
		l.wantLost(l.proxy.Calls()[before:])
		remove()
	}
}

// retry502 is the setting of the library for a proxy that answers 502 if it cannot reach the
// master: by default a program fails on that status.
const retry502 = `DET_RETRY_CONFIG={"total": 20, "backoff_factor": 0.5, "allowed_methods": false, "status_forcelist": [502, 503, 504]}`

// wantEachOnce checks an experiment of testdata/every-call.
func (l *lab) wantEachOnce(id string) {
	l.t.Helper()
	e := l.await(id, "COMPLETED")
	if len(e.Trials) != 2 {
		l.t.Fatalf("got %d trials, want 2\n%s", len(e.Trials), l.history(id))
	}
	for _, trial := range e.Trials {
		if trial.State != "STATE_COMPLETED" || trial.Restarts != 0 {
			l.t.Errorf("got %+v, want it completed without a restart\n%s", trial, l.logs(e))
		}
	}
	if runs := strings.Count(l.history(id), " started run "); runs != 2 {
		l.t.Errorf("got %d runs of two trials\n%s", runs, l.history(id))
	}
	for _, group := range []string{"training", "validation", "own"} {
		// One of both trials reported that its hyperparameters are invalid.
		if got := append(l.steps(e.Trials[0].ID, group), l.steps(e.Trials[1].ID, group)...); !slices.Equal(got, []int{1, 2, 3, 4}) {
			l.t.Errorf("group %s: got reports at %v, want each of four steps once", group, got)
		}
	}
	states := map[string]int{}
	for _, c := range l.saved(id) {
		states[c.State]++
	}
	if want := map[string]int{"STATE_COMPLETED": 3, "STATE_DELETED": 1}; fmt.Sprint(states) != fmt.Sprint(want) {
		l.t.Errorf("got checkpoints %v, want %v", states, want)
	}
}

// wantLost reports an error unless a response to each kind of call was dropped.
func (l *lab) wantLost(calls []faultproxy.Call) {
	l.t.Helper()
	lost := map[string]int{}
	for _, c := range calls {
		if c.Fault == "lose" {
			lost[c.Action]++
		}
	}
	for _, action := range []string{
		"GET /api/v1/allocations/*/signals/preemption", "GET /api/v1/checkpoints/*",
		"GET /api/v1/experiments/*/searcher/best_searcher_validation_metric", "GET /api/v1/runs/*/metadata",
		"PATCH /api/v1/checkpoints", "POST /api/v1/checkpoints", "POST /api/v1/runs/*/metadata", "POST /api/v1/runs/start",
		"POST /api/v1/trials/*/early_exit", "POST /api/v1/trials/*/metrics", "POST /api/v1/trials/*/progress",
		"POST /api/v1/trials/*/runner/metadata",
	} {
		if lost[action] != 1 {
			l.t.Errorf("the answer to %s was lost %d times, want once; got %v", action, lost[action], lost)
		}
	}
}
