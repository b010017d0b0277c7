package models_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/pages/models"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const saved = `{"uuid": "u<1>", "state": "STATE_COMPLETED", "resources": {"a/": "0", "a/<w>.bin": "1500000", "b": "5"}, "metadata": {"steps_completed": 300, "x": "<m>"},
	"training": {"trialId": 4, "experimentId": 7, "searcherMetric": 0.25}}`

func api() pagetest.API {
	return pagetest.API{
		"GET /api/v1/models":                    `{"models": [{"name": "<b>net", "numVersions": 2, "userId": 2}, {"name": "other"}], "pagination": {"total": 2}}`,
		"GET /api/v1/models/{model}/versions":   `{"model": {"name": "a/b", "userId": 2, "notes": "<n>"}, "modelVersions": [{"version": 1, "checkpoint": {"uuid": "u1"}}, {"version": 2, "comment": "<c>", "checkpoint": {"uuid": "u2"}}], "pagination": {"total": 2}}`,
		"POST /api/v1/models/{model}/archive":   `{}`,
		"GET /api/v1/workspaces":                `{"workspaces": [{"id": 1, "name": "Uncategorized"}, {"id": 5, "name": "<w>"}], "pagination": {"total": 2}}`,
		"GET /api/v1/checkpoints":               `{"checkpoints": [` + saved + `], "pagination": {"total": 120}}`,
		"GET /api/v1/experiments/7/checkpoints": `{"checkpoints": [], "pagination": {"total": 0}}`,
		"GET /api/v1/checkpoints/{uuid}":        `{"checkpoint": ` + saved + `}`,
		"GET /checkpoints/{uuid}":               "tar",
		"GET /checkpoints/{uuid}/file":          "content",
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, models.Pages(), api())
	page := s.Get("/det/models?name=NET", http.StatusOK)
	s.WantTexts(page, `href="/det/models/%3Cb%3Enet"`, "&lt;b&gt;net")
	s.WantNone(page, "<b>net", "other")
	page = s.Get("/det/models/a%2Fb", http.StatusOK)
	s.WantTexts(page, "&lt;n&gt;", "&lt;c&gt;", `href="/det/checkpoints/u2"`, `action="/det/models/a%2Fb/archive"`)
	if strings.Index(page, "u2") > strings.Index(page, "u1") {
		t.Error("the latest version is not first")
	}
	s.Post("/det/models/a%2Fb/archive", nil, http.StatusSeeOther)
	if got := s.Sent(); len(got) != 1 || got[0] != "POST /api/v1/models/a%2Fb/archive " {
		t.Errorf("got %q", got)
	}
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, models.Pages(), api())
	s.WantTexts(s.Get("/det/checkpoints?offset=50", http.StatusOK), "51–100 of 120", "1.50 MB", `href="/det/experiments/7"`, "0.25", "300", "u&lt;1&gt;")
	s.WantTexts(s.Get("/det/checkpoints?experiment=7", http.StatusOK), "There are no checkpoints.")
	s.Get("/det/checkpoints?experiment=x", http.StatusBadRequest)
	page := s.Get("/det/checkpoints/u%3C1%3E", http.StatusOK)
	s.WantTexts(page, "2 files", "&lt;w&gt;.bin", `file?path=a%2F%3Cw%3E.bin`, `/det/checkpoints/u%3C1%3E/download`, "&lt;m&gt;")
	s.WantNone(page, "<w>")
	rec := s.Open("/det/checkpoints/u1/file?path=a/x.bin", http.StatusOK)
	if got := rec.Header().Get("Content-Disposition"); got != "attachment; filename=x.bin" || rec.Body.String() != "content" {
		t.Errorf("got %q and %q", got, rec.Body)
	}
	if rec := s.Open("/det/checkpoints/u1/download", http.StatusOK); rec.Body.String() != "tar" || rec.Header().Get("Content-Type") != "application/gzip" {
		t.Errorf("got %v and %q", rec.Header(), rec.Body)
	}
}

// forms returns the API with what the forms call.
func forms() pagetest.API {
	with := api()
	for pattern, body := range map[string]string{
		"GET /api/v1/models/{model}":               `{"model": {"name": "net", "userId": 2, "workspaceId": 1, "numVersions": 2, "notes": "one\ntwo", "labels": ["a", "b c"], "metadata": {"x": "<m>"}}}`,
		"GET /api/v1/models/{model}/versions/3":    `{"modelVersion": {"version": 3, "name": "best", "comment": "<c>", "notes": "one\ntwo", "checkpoint": {"uuid": "u3"}, "model": {"name": "net", "userId": 2}}}`,
		"POST /api/v1/models":                      `{"model": {"name": "a b"}}`,
		"PATCH /api/v1/models/net":                 `{"model": {"name": "new"}}`,
		"POST /api/v1/models/{model}/move":         `{}`,
		"DELETE /api/v1/models/net":                `{}`,
		"POST /api/v1/models/{model}/versions":     `{"modelVersion": {"version": 4, "model": {"name": "net"}}}`,
		"PATCH /api/v1/models/{model}/versions/3":  `{"modelVersion": {"version": 3}}`,
		"DELETE /api/v1/models/{model}/versions/3": `{}`,
		"DELETE /api/v1/checkpoints":               `{}`,
		"GET /api/v1/experiments/7":                `{"experiment": {"id": 7, "userId": 2}}`,
	} {
		with[pattern] = body
	}
	return with
}

func TestPagesOfForms(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, models.Pages(), forms())
	for path, texts := range map[string][]string{
		"models/net/edit":              {"a\nb c</textarea>", "one\ntwo</textarea>", "{\n  &#34;x&#34;: &#34;&lt;m&gt;&#34;\n}", "&lt;w&gt;</option>", `action="/det/models/net/move"`},
		"models/net/delete":            {"Delete model net?", "2 versions"},
		"models/net/versions/3":        {"&lt;c&gt;", "one\ntwo", `href="/det/checkpoints/u3"`, "/det/models/net/versions/3/edit"},
		"models/net/versions/3/edit":   {`value="best"`, "&lt;c&gt;</textarea>"},
		"models/net/versions/3/delete": {"Delete version 3 of model net?", "Its checkpoint stays"},
		"checkpoints/u/register":       {`<option value="&lt;b&gt;net">`, "next version of a model"},
		"checkpoints/u/delete":         {"2 files, 1.50 MB"},
		"checkpoints/u":                {"/register", "/delete"},
	} {
		page := s.Get("/det/"+path, http.StatusOK)
		s.WantTexts(page, texts...)
		s.WantNone(page, "<w>", "<m>", "<c>", "<b>net")
	}
	s.Get("/det/models/net/versions/x", http.StatusNotFound)
	other := forms()
	other["GET /api/v1/me"] = `{"user": {"id": 5, "username": "eve"}}`
	s = pagetest.New(t, models.Pages(), other)
	for _, path := range []string{"models/a%2Fb", "models/net/versions/3", "checkpoints/u"} {
		s.WantNone(s.Get("/det/"+path, http.StatusOK), "/edit", "/delete", "/archive")
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, models.Pages(), forms())
	fields := url.Values{"name": {" new "}, "text": {"t"}, "notes": {"a\r\nb"}, "labels": {"x y\r\n\r\nz"}, "metadata": {`{"n": 1}`}}
	for _, tt := range []struct {
		path string
		form url.Values
		to   string
		sent string
	}{
		{"models", url.Values{"name": {"a b"}, "description": {"d"}}, "/det/models/a%20b", `POST /api/v1/models {"name":"ab","description":"d"}`},
		{"models/net/edit", fields, "/det/models/new", `PATCH /api/v1/models/net {"name":"new","description":"t","metadata":{"n":1},"labels":["xy","z"],"notes":"a\nb"}`},
		{"models/net/move", url.Values{"workspace": {"5"}}, "/det/models/net", `POST /api/v1/models/net/move {"modelName":"net","destinationWorkspaceId":5}`},
		{"models/net/delete", nil, "/det/models", "DELETE /api/v1/models/net "},
		{"models/net/versions/3/edit", fields, "/det/models/net/versions/3", `PATCH /api/v1/models/net/versions/3 {"name":"new","comment":"t","metadata":{"n":1},"labels":["xy","z"],"notes":"a\nb"}`},
		{"models/net/versions/3/delete", nil, "/det/models/net", "DELETE /api/v1/models/net/versions/3 "},
		{"checkpoints/u/register", url.Values{"model": {"net"}, "name": {"v"}}, "/det/models/net/versions/4", `POST /api/v1/models/net/versions {"modelName":"net","checkpointUuid":"u","name":"v"}`},
		{"checkpoints/u/delete", nil, "/det/checkpoints/u%3C1%3E", `DELETE /api/v1/checkpoints {"checkpointUuids":["u<1>"]}`},
	} {
		to := s.Post("/det/"+tt.path, tt.form, http.StatusSeeOther).Header().Get("Location")
		if sent := s.Sent(); to != tt.to || len(sent) != 1 || sent[0] != tt.sent {
			t.Errorf("%s: got the page %q and the calls %q, want %q and %q", tt.path, to, sent, tt.to, tt.sent)
		}
	}
	s.Post("/det/models/net/move", nil, http.StatusBadRequest)
	s.WantTexts(s.Post("/det/checkpoints/u/register", nil, http.StatusUnprocessableEntity).Body.String(), "Give the name of the model.")
	for _, path := range []string{"models/net/edit", "models/net/versions/3/edit"} {
		page := s.Post("/det/"+path, url.Values{"name": {"kept"}, "metadata": {"[1]"}}, http.StatusUnprocessableEntity).Body.String()
		s.WantTexts(page, "must be a JSON object", "[1]</textarea>", `value="kept"`)
	}
	if sent := s.Sent(); len(sent) != 0 {
		t.Errorf("got the calls %q", sent)
	}
}

// What the API refuses is shown with the form.
func TestRefusedForms(t *testing.T) {
	t.Parallel()
	with := forms()
	for _, pattern := range []string{
		"POST /api/v1/models", "PATCH /api/v1/models/net", "DELETE /api/v1/models/net", "POST /api/v1/models/{model}/versions",
		"PATCH /api/v1/models/{model}/versions/3", "DELETE /api/v1/models/{model}/versions/3", "DELETE /api/v1/checkpoints",
	} {
		with[pattern] = `400 {"message": "it is <in> use"}`
	}
	s := pagetest.New(t, models.Pages(), with)
	for _, path := range []string{
		"models", "models/net/edit", "models/net/delete", "checkpoints/u/register", "models/net/versions/3/edit", "models/net/versions/3/delete", "checkpoints/u/delete",
	} {
		page := s.Post("/det/"+path, url.Values{"model": {"net"}, "name": {"kept"}}, http.StatusUnprocessableEntity).Body.String()
		s.WantTexts(page, "It is &lt;in&gt; use.", `name="csrf"`)
	}
}
