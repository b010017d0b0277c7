package audit

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAuditLog(t *testing.T) {
	t.Parallel()
	api := pagetest.API{
		"GET /api/v1/me":    `{"user": {"id": 1, "username": "admin", "admin": true}}`,
		"GET /api/v1/audit": `{"result": {"entry": {"id": "5", "time": "2026-03-04T05:00:00Z", "user": "<b>eve", "action": "task.kill", "target": "<i>t1", "outcome": "refused", "reason": "PermissionDenied", "address": "10.0.0.1", "count": 3, "details": "<u>"}}}` + "\n",
	}
	s := pagetest.New(t, Pages(), api)
	page := s.Get("/det/audit?before=9", http.StatusOK)
	s.WantTexts(page, "&lt;b&gt;eve", "&lt;i&gt;t1", "refused", "PermissionDenied", "3 times", "Newest entries", "?user=%3Cb%3Eeve")
	s.WantNone(page, "<b>eve", "<i>t1", "<u>", "Earlier entries")
	delete(api, "GET /api/v1/me")
	pagetest.New(t, Pages(), api).Get("/det/audit", http.StatusForbidden)
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]client.AuditQuery{
		"":                                 {Since: pagetest.Now.AddDate(0, 0, -7)},
		"since=1d&user=+eve+&action=user.": {Since: pagetest.Now.AddDate(0, 0, -1), User: "eve", Action: "user."},
		"since=all&before=17":              {Before: "17"},
		"since=x":                          {},
	} {
		q, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		want.Newest, want.Limit = true, pageRows+1
		if d := cmp.Diff(newView(q).query(pagetest.Now), want); d != "" {
			t.Errorf("%s (-got +want):\n%s", text, d)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	w := newView(nil)
	for n := range pageRows + 1 {
		w.add(&apiv1.AuditEntry{Id: fmt.Sprint(n)})
	}
	if len(w.Entries) != pageRows || w.Next != fmt.Sprint(pageRows-1) {
		t.Errorf("got %d entries and the next page before %q", len(w.Entries), w.Next)
	}
}

// A filter that matches next to nothing does not read the log for longer than a page may.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, page{time.Nanosecond}.pages(), pagetest.API{
		"GET /api/v1/me": `{"user": {"id": 1, "username": "admin", "admin": true}}`, "GET /api/v1/audit": ``,
	})
	s.WantTexts(s.Get("/det/audit?action=rare", http.StatusOK), "only a part of it was searched", "No entry of that part matches")
	w := newView(nil)
	w.add(&apiv1.AuditEntry{Id: "7"})
	if w.cut(); w.Next != "7" {
		t.Errorf("got the next page before %q", w.Next)
	}
}
