// Package audit is the page of the audit log, for administrators.
package audit

import (
	"context"
	"embed"
	"net/url"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed audit.html
var files embed.FS

var auditPage = ui.MustParse(files, "audit.html")

const path = ui.Root + "audit"

// Pages returns the page.
func Pages() []ui.Page { return page{readTime}.pages() }

// readTime is how long a page reads the log for entries that match its filter.
const readTime = 3 * time.Second

// page reads the log for a limited time.
type page struct{ within time.Duration }

func (p page) pages() []ui.Page {
	return []ui.Page{{Pattern: "GET " + path, Nav: "Audit", Admin: true, Serve: p.show}}
}

// pageRows is the number of entries of a page.
const pageRows = 100

// view is the data of audit.html.
type view struct {
	User, Action, Since string
	Ages                []age
	Entries             []*apiv1.AuditEntry
	// Before is the entry that the page begins before, or "".
	Before string
	// Next is the entry that the next page begins before, or "".
	Next string
	// Cut reports that earlier entries were not read for lack of time.
	Cut bool
}

// age is a choice of the oldest entry.
type age struct {
	Value, Text string
	Chosen      bool
	length      time.Duration
}

func ages(chosen string) []age {
	list := []age{
		{"", "last 7 days", false, 7 * 24 * time.Hour},
		{"1d", "last day", false, 24 * time.Hour},
		{"30d", "last 30 days", false, 30 * 24 * time.Hour},
		{"all", "any time", false, 0},
	}
	for i := range list {
		list[i].Chosen = list[i].Value == chosen
	}
	return list
}

func (p page) show(v *ui.Visit) error {
	w := newView(v.URL.Query())
	ctx, cancel := context.WithTimeout(v.Context(), p.within)
	defer cancel()
	for e, err := range v.API.Audit(ctx, w.query(v.Now)) {
		if err != nil && ctx.Err() != nil && v.Context().Err() == nil {
			w.cut()
			break
		}
		if err != nil {
			return err
		}
		w.add(e.GetEntry())
	}
	return v.Show(auditPage, "Audit log", w)
}

func newView(q url.Values) *view {
	return &view{
		User: strings.TrimSpace(q.Get("user")), Action: strings.TrimSpace(q.Get("action")), Since: q.Get("since"), Ages: ages(q.Get("since")), Before: q.Get("before"),
	}
}

// query returns the query of the API: one entry more than the page shows.
func (w *view) query(now time.Time) client.AuditQuery {
	q := client.AuditQuery{User: w.User, Action: w.Action, Newest: true, Before: w.Before, Limit: pageRows + 1}
	for _, a := range w.Ages {
		if a.Chosen && a.length > 0 {
			q.Since = now.Add(-a.length)
		}
	}
	return q
}

func (w *view) add(e *apiv1.AuditEntry) {
	if n := len(w.Entries); n == pageRows {
		w.Next = w.Entries[n-1].GetId()
		return
	}
	w.Entries = append(w.Entries, e)
}

// cut ends the page before all of its entries were read.
func (w *view) cut() {
	w.Cut = true
	if n := len(w.Entries); n > 0 {
		w.Next = w.Entries[n-1].GetId()
	}
}
