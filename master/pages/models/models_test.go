package models_test

import (
	"net/http"
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
		"GET /api/v1/models":                    `{"models": [{"name": "<b>net", "numVersions": 2}, {"name": "other"}], "pagination": {"total": 2}}`,
		"GET /api/v1/models/{model}/versions":   `{"model": {"name": "a/b", "userId": 2, "notes": "<n>"}, "modelVersions": [{"version": 1, "checkpoint": {"uuid": "u1"}}, {"version": 2, "comment": "<c>", "checkpoint": {"uuid": "u2"}}], "pagination": {"total": 2}}`,
		"POST /api/v1/models/{model}/archive":   `{}`,
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
	s.WantTexts(page, "2 files", "&lt;w&gt;.bin", `file?path=a%2F%3Cw%3E.bin`, `/det/checkpoints/u%3C1%3E/download`, "\\u003cm\\u003e")
	s.WantNone(page, "<w>")
	rec := s.Open("/det/checkpoints/u1/file?path=a/x.bin", http.StatusOK)
	if got := rec.Header().Get("Content-Disposition"); got != "attachment; filename=x.bin" || rec.Body.String() != "content" {
		t.Errorf("got %q and %q", got, rec.Body)
	}
	if rec := s.Open("/det/checkpoints/u1/download", http.StatusOK); rec.Body.String() != "tar" || rec.Header().Get("Content-Type") != "application/gzip" {
		t.Errorf("got %v and %q", rec.Header(), rec.Body)
	}
}
