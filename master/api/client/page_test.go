package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/client"
)

func TestPagesOfTasks(t *testing.T) {
	t.Parallel()
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("limit") != "2" || q.Get("states") != "failed" {
			t.Errorf("got the query %v", q)
		}
		if r.URL.Query().Get("after") == "x" {
			fmt.Fprint(w, `{"tasks": [{"id": "c"}]}`)
			return
		}
		fmt.Fprint(w, `{"tasks": [{"id": "a"}, {"id": "b"}], "next": "x"}`)
	})
	q := client.TaskQuery{States: []string{"failed"}, Limit: 2}
	first, next, err := c.TaskPage(t.Context(), q, "")
	if err != nil || len(first) != 2 || next != "x" {
		t.Errorf("got %v, %q, %v", first, next, err)
	}
	if last, next, err := c.TaskPage(t.Context(), q, next); err != nil || len(last) != 1 || next != "" {
		t.Errorf("got %v, %q, %v", last, next, err)
	}
}

func TestPagesOfJobs(t *testing.T) {
	t.Parallel()
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("offset") != "50" || q.Get("limit") != "25" || q.Get("resourcePool") != "gpu" {
			t.Errorf("got the query %v", q)
		}
		fmt.Fprint(w, `{"jobs": [{"full": {"jobId": "a"}}, {"limited": {}}], "pagination": {"total": 52}}`)
	})
	if jobs, total, err := c.JobsPage(t.Context(), "gpu", 50, 25); err != nil || total != 52 || len(jobs) != 1 {
		t.Errorf("got %v, %d, %v", jobs, total, err)
	}
}

func TestPagesOfCheckpoints(t *testing.T) {
	t.Parallel()
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.URL.Path != "/api/v1/trials/3/checkpoints" || q.Get("offset") != "50" || q.Get("orderBy") != "ORDER_BY_DESC" {
			t.Errorf("got %v", r.URL)
		}
		fmt.Fprint(w, `{"checkpoints": [{"uuid": "a"}], "pagination": {"total": 51}}`)
	})
	if page, total, err := c.CheckpointPage(t.Context(), client.CheckpointQuery{Trial: 3}, 50, 50); err != nil || total != 51 || len(page) != 1 {
		t.Errorf("got %v, %d, %v", page, total, err)
	}
}

func TestPartsOfLogs(t *testing.T) {
	t.Parallel()
	c := dial(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("searchText") != "loss" || q.Get("enableRegex") != "true" || q.Get("beforeId") != "7" || q.Get("afterId") != "3" {
			t.Errorf("got the query %v", q)
		}
		fmt.Fprintln(w, `{"result": {"id": "6", "log": "loss"}}`)
	})
	n := 0
	for _, err := range c.Logs(t.Context(), "t", client.LogQuery{Search: "loss", Regexp: true, After: "3", Before: "7"}) {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}
