package model

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// registry serves one model with two versions, one item per page.
func registry(t *testing.T) string {
	t.Helper()
	const model = `{"id": 3, "name": "digits", "username": "ada", "workspaceId": 2, "numVersions": 2, "labels": ["a", "b"]}`
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/workspaces", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"workspaces": [{"id": 1, "name": "Uncategorized"}, {"id": 2, "name": "vision"}]}`))
	})
	mux.HandleFunc("GET /api/v1/names/workspaces", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"names": [{"id": "2", "name": "vision"}]}`))
	})
	mux.HandleFunc("GET /api/v1/models", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("archived") != "false" || q.Get("labels") != "a" || q.Get("workspaceNames") != "vision" {
			t.Errorf("got the query %v", q)
		}
		_, _ = w.Write([]byte(`{"models": [` + model + `], "pagination": {"total": 1}}`))
	})
	mux.HandleFunc("GET /api/v1/models/digits/versions", func(w http.ResponseWriter, r *http.Request) {
		version := map[string]string{
			"0": `{"version": 1, "username": "ada", "checkpoint": {"uuid": "c-1", "training": {"trialId": 7}}}`,
			"1": `{"version": 2, "username": "bob", "comment": "better", "checkpoint": {"uuid": "c-2"}}`,
		}[r.URL.Query().Get("offset")]
		_, _ = w.Write([]byte(`{"model": ` + model + `, "modelVersions": [` + version + `], "pagination": {"total": 2}}`))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestListAndDescribeModels(t *testing.T) {
	t.Parallel()
	master, err := client.New(client.Config{URL: registry(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	o := &listOptions{ModelQuery: client.ModelQuery{Workspaces: []string{"vision"}, Labels: []string{"a"}}}
	list, err := fetchModels(t.Context(), o, master)
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v, want one model", list, err)
	}
	_, rows := command.Tabulate(o.columns(), list).Lines()
	if got := strings.Join(strings.Fields(rows[0]), " "); !strings.HasPrefix(got, "3 digits ada vision 2 a, b ") {
		t.Errorf("got the row %s", got)
	}
	reply, err := fetchModel(t.Context(), master, "digits")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(pairs(reply))
	for _, want := range []string{"[Name digits]", "[Version 1 checkpoint c-1 of trial 7, registered ", "[Version 2 checkpoint c-2, registered ", " by bob: better]"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %q in it", got, want)
		}
	}
}
