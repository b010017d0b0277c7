package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/task"
)

func TestHistoryIsQueried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := func(query string) (int, string) {
		rec := w.ask(t, http.MethodGet, "/api/v1/task-history?"+query, w.user, "")
		return rec.Code, squeeze(rec.Body.String())
	}
	code, body := ask("states=failed&states=running&users=admin&pools=gpu&labels=team%3Dvision&labels=a%3D&since=2026-01-02T03:04:05Z&after=e1.x&limit=7")
	if code != http.StatusOK || !strings.Contains(body, `"id":"t1"`) || !strings.Contains(body, `"next":"more"`) {
		t.Errorf("got %d %s", code, body)
	}
	want := task.HistoryQuery{
		Statuses: []apiv1.Status{apiv1.StatusFailed, apiv1.StatusRunning}, UserIDs: []int32{1}, Pools: []string{"gpu"},
		Labels: map[string]string{"team": "vision", "a": ""}, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), After: "e1.x", Limit: 7,
	}
	if d := cmp.Diff(w.cluster.history, want); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
	for _, limit := range []string{"", "limit=0", "limit=100000"} {
		if ask(limit); w.cluster.history.Limit != historyPage {
			t.Errorf("%q: got limit %d, want %d", limit, w.cluster.history.Limit, historyPage)
		}
	}
	for query, want := range map[string]string{
		"states=terminated":            "states: must be some of queued, scheduled",
		"labels=team":                  "labels: must be of the form key=value",
		"users=nobody":                 "nobody",
		"since=yesterday":              "since",
		strings.Repeat("pools=a&", 11): "at most 10 values",
	} {
		if code, body := ask(query); code == http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want %s", query, code, body, want)
		}
	}
}

// Another user sees the place in the queue, but not what the program printed.
func TestDetailOfACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.ask(t, http.MethodGet, "/api/v1/commands/t2?detail=true", w.user, "")
	if got := squeeze(rec.Body.String()); !strings.Contains(got, `"jobsAhead":3`) || !strings.Contains(got, `"lastLines":[]`) {
		t.Errorf("got %s", got)
	}
	rec = w.ask(t, http.MethodGet, "/api/v1/commands/t2", w.user, "")
	if got := squeeze(rec.Body.String()); strings.Contains(got, `"jobsAhead"`) {
		t.Errorf("got %s without detail", got)
	}
}
