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
	s.WantNone(page, "/archive", "<c>")
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
