package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// reached is a cluster with a session at its master.
type reached struct {
	Cluster

	k    contexts.Context
	runs bool
	err  error
}

func (c reached) Session(context.Context) (contexts.Context, bool, error) { return c.k, c.runs, c.err }

// newMaster returns a master with a task of two allocations and n experiments.
func newMaster(t *testing.T, n int) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/tasks", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"allocationIdToSummary": {"b.1": {"taskId": "b", "name": "train"}, "a.2": {"taskId": "a", "name": "\u001b[2Jsleep"}, "b.2": {"taskId": "b", "name": "train"}}}`)
	})
	mux.HandleFunc("GET /api/v1/experiments", func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query()["states"]; len(got) != 1 || got[0] != "STATE_ACTIVE" {
			t.Errorf("got states %q, want the active experiments only", got)
		}
		one := strings.TrimSuffix(strings.Repeat(`{"id": 7, "name": "mnist", "username": "ada"},`, n), ",")
		fmt.Fprintf(w, `{"experiments": [%s], "pagination": {"total": %d}}`, one, n)
	})
	master := httptest.NewServer(mux)
	t.Cleanup(master.Close)
	return master.URL
}

func TestDownNamesTheWorkThatEnds(t *testing.T) {
	t.Parallel()
	const tasks = "These tasks run or wait, and end with the cluster:\n  - \\x1b[2Jsleep (a)\n  - train (b)\n"
	const active = "These experiments are active, and stop with the cluster:\n"
	session := func(n int) contexts.Context { return contexts.Context{Master: newMaster(t, n), Token: "t"} }
	for name, tc := range map[string]struct {
		c    reached
		want string
	}{
		"no master":           {reached{}, ""},
		"no experiment":       {reached{k: session(0), runs: true}, tasks},
		"an experiment":       {reached{k: session(1), runs: true}, tasks + active + "  - 7 mnist (ada)\n"},
		"many experiments":    {reached{k: session(mostWork + 1), runs: true}, tasks + active + strings.Repeat("  - 7 mnist (ada)\n", mostWork) + "  and more\n"},
		"a changed password":  {reached{runs: true}, "Running tasks are not listed: nobody is logged in, and the initial password was changed.\n"},
		"an unreached master": {reached{runs: true, err: errors.New("no route")}, "Running tasks are not listed: no route.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, said := term.Test("", false)
			warnWork(t.Context(), s, tc.c)
			if got := said.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
