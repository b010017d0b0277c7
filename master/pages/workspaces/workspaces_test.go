package workspaces_test

import (
	"net/http"
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/pages/workspaces"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func api() pagetest.API {
	return pagetest.API{
		"GET /api/v1/workspaces":               `{"workspaces": [{"id": 5, "name": "<b>vision", "username": "alice", "userId": 2}], "pagination": {"total": 1}}`,
		"GET /api/v1/workspaces/5":             `{"workspace": {"id": 5, "name": "<b>vision", "userId": 2}}`,
		"GET /api/v1/workspaces/1":             `{"workspace": {"id": 1, "name": "Uncategorized", "immutable": true, "userId": 2}}`,
		"GET /api/v1/workspaces/6":             `403 {"message": "workspace 6 is private"}`,
		"GET /api/v1/resource-pools":           `{"resourcePools": [{"name": "gpu"}, {"name": "<p>"}]}`,
		"GET /api/v1/workspaces/{id}/projects": `{"projects": [{"id": 9, "name": "old", "archived": true}, {"id": 8, "name": "<i>new", "description": "<u>"}], "pagination": {"total": 2}}`,
		"GET /api/v1/projects/8":               `{"project": {"id": 8, "name": "<i>new", "workspaceId": 5, "workspaceName": "<b>vision", "userId": 3, "notes": [{"name": "<n>", "contents": "<c>"}]}}`,
		"POST /api/v1/workspaces":              `{"workspace": {"id": 7}}`,
		"POST /api/v1/workspaces/5/projects":   `409 {"message": "project 'x' exists"}`,
		"POST /api/v1/workspaces/5/archive":    `{}`, "POST /api/v1/projects/8/unarchive": `{}`,
	}
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, workspaces.Pages(), api())
	page := s.Get("/det/workspaces", http.StatusOK)
	s.WantTexts(page, `href="/det/workspaces/5"`, "&lt;b&gt;vision")
	s.WantNone(page, "<b>vision")
	for _, path := range []string{"/det/workspaces/5", "/det/workspaces/5/projects/x"} {
		s.WantTexts(s.Get(path, http.StatusOK), `href="/det/projects/8"`, "&lt;u&gt;", `action="/det/workspaces/5/archive"`, `href="/det/experiments?workspace=5"`)
	}
	s.WantNone(s.Get("/det/workspaces/1", http.StatusOK), "/archive")
	s.WantTexts(s.Get("/det/workspaces/6", http.StatusForbidden), "is private.")
	s.Get("/det/workspaces/x", http.StatusNotFound)
	page = s.Get("/det/projects/8/experiments", http.StatusOK)
	s.WantTexts(page, "&lt;i&gt;new", "&lt;c&gt;", `href="/det/experiments?project=8"`)
	s.WantNone(page, "<c>")
}

func TestFormsOfWorkspaces(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, workspaces.Pages(), api())
	for _, tt := range []struct {
		path, to, sent string
		form           url.Values
	}{
		{"workspaces", "/det/workspaces/7", `POST /api/v1/workspaces {"name":"x"}`, url.Values{"name": {" x "}}},
		{"workspaces/5/archive", "/det/workspaces/5", "POST /api/v1/workspaces/5/archive ", nil},
		{"projects/8/unarchive", "/det/projects/8", "POST /api/v1/projects/8/unarchive ", nil},
	} {
		to := s.Post("/det/"+tt.path, tt.form, http.StatusSeeOther).Header().Get("Location")
		if sent := s.Sent(); to != tt.to || len(sent) != 1 || sent[0] != tt.sent {
			t.Errorf("%s: got %q and %q", tt.path, to, sent)
		}
	}
	s.WantTexts(s.Post("/det/workspaces/5/projects", url.Values{"name": {`"x`}}, http.StatusUnprocessableEntity).Body.String(), "Project &#39;x&#39; exists.", `value="&#34;x"`)
}

func TestPagesOfChanges(t *testing.T) {
	t.Parallel()
	with := api()
	with["GET /api/v1/workspaces/7"] = `{"workspace": {"id": 7, "name": "full", "userId": 2, "numExperiments": 12}}`
	with["GET /api/v1/projects/9"] = `{"project": {"id": 9, "name": "full", "workspaceId": 6, "userId": 2, "numExperiments": 1}}`
	with["GET /api/v1/projects/1"] = `{"project": {"id": 1, "name": "first", "workspaceId": 1, "userId": 2, "immutable": true}}`
	s := pagetest.New(t, workspaces.Pages(), with)
	for path, texts := range map[string][]string{
		"workspaces/5/edit":   {`value="&lt;b&gt;vision"`, `<option value="&lt;p&gt;">`},
		"workspaces/5/delete": {"It has no experiments.", "<button"},
		"workspaces/7/delete": {"It has 12 experiments.", ">Back</a>"},
		"projects/8/edit":     {`value="&lt;i&gt;new"`, "&lt;c&gt;</textarea>", `name="contents" rows="5"></textarea>`},
		"projects/8/delete":   {"It has no experiments."},
		"projects/9/delete":   {"It has 1 experiment."},
		"projects/8":          {"/det/projects/8/edit", "/det/projects/8/archive"}, // the workspace is the visitor's
		"projects/1":          {"/det/projects/1/edit"},
	} {
		page := s.Get("/det/"+path, http.StatusOK)
		s.WantTexts(page, texts...)
		s.WantNone(page, "<b>vision", "<c>", `value="<p>"`)
	}
	s.WantNone(s.Get("/det/projects/1", http.StatusOK), "/delete", "/archive")
	s.WantNone(s.Get("/det/projects/1/edit", http.StatusOK), `name="description"`, "/move")
	s.WantNone(s.Get("/det/workspaces/1", http.StatusOK), "New project", "/edit")
	s.WantNone(s.Get("/det/workspaces/7/delete", http.StatusOK), `class="danger"`)
	s.Post("/det/workspaces/7/delete", nil, http.StatusConflict)
	s.Post("/det/projects/9/delete", nil, http.StatusConflict)
	if sent := s.Sent(); len(sent) != 0 {
		t.Errorf("got the calls %q", sent)
	}
}

// changes are forms with the pages behind them and the calls that they send.
var changes = []struct {
	path, to, sent string
	form           url.Values
}{
	{"workspaces/5/edit", "/det/workspaces/5", `PATCH /api/v1/workspaces/5 {"name":"x","defaultComputePool":"gpu","defaultAuxPool":""}`, url.Values{"name": {" x "}, "compute": {"gpu"}}},
	{"workspaces/5/delete", "/det/workspaces", "DELETE /api/v1/workspaces/5 ", nil},
	{"projects/8/edit", "/det/projects/8", `PATCH /api/v1/projects/8 {"name":"x","description":"y"}`, url.Values{"name": {"x"}, "description": {"y"}}},
	{
		"projects/8/notes", "/det/projects/8", `PUT /api/v1/projects/8/notes {"notes":[{"name":"a","contents":"b\nc"}],"projectId":8}`,
		url.Values{"title": {"a", " ", ""}, "contents": {"b\r\nc", "", ""}},
	},
	{"projects/8/move", "/det/projects/8", `POST /api/v1/projects/8/move {"projectId":8,"destinationWorkspaceId":5}`, url.Values{"workspace": {"5"}}},
	{"projects/8/delete", "/det/workspaces/5", "DELETE /api/v1/projects/8 ", nil},
}

func TestChanges(t *testing.T) {
	t.Parallel()
	with, refusing := api(), api()
	for _, pattern := range []string{"PATCH /api/v1/workspaces/5", "DELETE /api/v1/workspaces/5", "PATCH /api/v1/projects/8", "PUT /api/v1/projects/8/notes", "POST /api/v1/projects/8/move", "DELETE /api/v1/projects/8"} {
		with[pattern], refusing[pattern] = `{}`, `400 {"message": "it is <in> use"}`
	}
	s, refused := pagetest.New(t, workspaces.Pages(), with), pagetest.New(t, workspaces.Pages(), refusing)
	for _, tt := range changes {
		to := s.Post("/det/"+tt.path, tt.form, http.StatusSeeOther).Header().Get("Location")
		if sent := s.Sent(); to != tt.to || len(sent) != 1 || sent[0] != tt.sent {
			t.Errorf("%s: got %q and %q", tt.path, to, sent)
		}
		refused.WantTexts(refused.Post("/det/"+tt.path, tt.form, http.StatusUnprocessableEntity).Body.String(), "It is &lt;in&gt; use.", `name="csrf"`)
	}
	s.Post("/det/projects/8/move", nil, http.StatusBadRequest)
}
