package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// crowded is a cluster in which each job waits behind two others.
type crowded struct{ *task.Tasks }

func (crowded) LastLines(context.Context, string) ([]string, error) {
	return []string{"out of memory"}, nil
}

func (crowded) PlaceInQueue(string, rm.JobID) *apiv1.QueuePlace {
	return &apiv1.QueuePlace{JobsAhead: 2}
}

type crowdedQueue struct{ *cluster }

func (crowdedQueue) Queue(p rm.QueuePart) []*apiv1.Job {
	return []*apiv1.Job{{JobId: string(p.Job), Summary: &apiv1.JobSummary{State: apiv1.Job_STATE_QUEUED, JobsAhead: 2}}}
}

// awaitText waits until the answer of a GET request contains text, and returns it.
func (w *whole) awaitText(t *testing.T, path, who, text string) string {
	t.Helper()
	var got string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		if got = squeeze(w.ask(t, http.MethodGet, path, who, "").Body.String()); strings.Contains(got, text) {
			return got
		}
	}
	t.Fatalf("%s: got %s, want %s", path, got, text)
	return ""
}

func TestExperimentTellsWhyItWaitsOrFailed(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	w.remake(t, func(c *Config) { c.Tasks, c.Queue = crowded{w.tasks}, crowdedQueue{w.cluster} })
	owner, err := w.auth.User(1)
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.x.Create(t.Context(), experiment.Order{By: owner, Config: wholeConfig + "max_restarts: 0\n", Activate: true})
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/experiments/" + strconv.Itoa(int(made.View.ID))
	got := w.awaitText(t, path+"?detail=true", w.admin, `"STATE_QUEUED"`)
	for _, want := range []string{`"jobSummary":{"state":"STATE_QUEUED","jobsAhead":2}`, `"queue":{"jobsAhead":2`} {
		if !strings.Contains(got, want) {
			t.Errorf("waiting: got %s, want %s", got, want)
		}
	}
	trials, err := w.x.Trials(t.Context(), made.View.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.fail(t, trials[0].Task())
	trial := `"failedTrial":` + strconv.Itoa(int(trials[0].ID))
	got = w.awaitText(t, path+"?detail=true", w.admin, `"STATE_ERROR"`)
	for _, want := range []string{`"jobSummary":null`, `"queue":null`, trial, `"lastLines":["out of memory"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("failed: got %s, want %s", got, want)
		}
	}
	trialPath := "/api/v1/trials/" + strconv.Itoa(int(trials[0].ID))
	for _, tt := range []struct{ path, who, want string }{
		{path, w.admin, `"lastLines":[]`},
		{path + "?detail=true", w.user, `"lastLines":[]`},
		{trialPath + "?detail=true", w.admin, `"lastLines":["out of memory"]`},
		{trialPath + "?detail=true", w.user, `"lastLines":[]`},
		{trialPath, w.admin, `"lastLines":[]`},
	} {
		if got := squeeze(w.ask(t, http.MethodGet, tt.path, tt.who, "").Body.String()); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.path, got, tt.want)
		}
	}
}

// fail ends the run of a task with exit code 1.
func (w *whole) fail(t *testing.T, id string) {
	t.Helper()
	allocation, now := w.machine.await(t, id), time.Now()
	_, err := w.tasks.Assigned(t.Context(), rm.Assignment{Allocation: allocation, Pool: "default", At: now, Containers: []rm.Container{{ID: "c2", Agent: "a"}}})
	if err == nil {
		err = w.tasks.Changed(t.Context(), rm.ContainerChange{
			Allocation: allocation, Container: "c2", Agent: "a", State: apiv1.Container_STATE_TERMINATED,
			Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: 1}, At: now,
		})
	}
	if err == nil {
		err = w.tasks.Ended(t.Context(), allocation, rm.End{Cause: rm.CauseExited, Reason: "exited", At: now})
	}
	if err != nil {
		t.Fatal(err)
	}
}
