package server

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestNamesOfEachKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct{ path, want string }{
		{"tasks?text=t1", `{"names":[{"id":"t1","name":"calm-otter","username":"determined","state":"","workspace":""}],"more":false}`},
		{"tasks?text=calm&limit=1", `"more":true`},
		{"tasks?text=other", `{"names":[],"more":false}`},
		{"users?text=adm", `"id":"admin"`},
		{"pools?text=", `"id":"default"`},
		{"agents", `"id":"a"`},
		{"jobs", `"names":[`},
		{"models", `"names":[`},
		{"tasks?limit=x", "limit"},
		{"workspaces?text=Unc", `"id":"1","name":"Uncategorized"`},
		{"projects?text=Unc", `"workspace":"Uncategorized"`},
		{"projects?text=Uncategorized/Unc", `"id":"1","name":"Uncategorized"`},
		{"projects?text=other/Unc", `"names":[]`},
		{"templates", `"names":[`},
		{"planets", "planets"},
	} {
		rec := w.ask(t, http.MethodGet, "/api/v1/names/"+tt.path, w.user, "")
		if got := squeeze(rec.Body.String()); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %d %s, want %s", tt.path, rec.Code, got, tt.want)
		}
	}
	if rec := w.ask(t, http.MethodGet, "/api/v1/names/users", w.tools, ""); rec.Code != http.StatusForbidden {
		t.Errorf("by a token inside a task: got %d", rec.Code)
	}
	if rec := w.ask(t, http.MethodGet, "/api/v1/names/users", "", ""); rec.Code != http.StatusUnauthorized {
		t.Errorf("without a login: got %d", rec.Code)
	}
}

func TestNamesOfTrials(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	id, task := w.ids["trial"], w.ids["task"]
	of := strconv.Itoa(int(w.experiment))
	trial := `{"names":[{"id":"` + id + `","name":"` + of + `.1","username":"determined","state":"running","workspace":"","taskId":"` + task + `"}],"more":false}`
	for _, tt := range []struct{ path, want string }{
		{"trials?text=" + of + ".1", trial},
		{"trials?text=" + task[:10], trial},
		{"trials?text=" + of + ".none", `{"names":[],"more":false}`},
		{"tasks?text=" + of + ".1", `{"names":[{"id":"` + task + `","name":"` + of + `.1","username":"determined"`},
		{"tasks?text=" + task[:10], `{"names":[{"id":"` + task + `"`},
	} {
		rec := w.ask(t, http.MethodGet, "/api/v1/names/"+tt.path, w.user, "")
		if got := squeeze(rec.Body.String()); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %d %s, want %s", tt.path, rec.Code, got, tt.want)
		}
	}
}
