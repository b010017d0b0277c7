// Package log reads the log of a cluster in Cloud Logging, and says what its entries are
// made of.
package log

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// The labels of an entry: the name of the machine that wrote it, and which unit of that
// machine did.
const (
	LabelInstance = "instance"
	LabelUnit     = "unit"
)

// Line is one line that a machine wrote.
type Line struct {
	// ID is the same when the line is read again.
	ID             string
	Time           time.Time
	Instance, Unit string
	Text           string
}

// Query chooses lines.
type Query struct {
	// Since is when the oldest was written; zero is the beginning.
	Since time.Time
	// Instance is the name of one machine, and Unit one of its units: "det-deploy-master".
	// Empty is all.
	Instance, Unit string
}

// Log is one log of a project.
type Log struct {
	// ID is its name in the project: "det-deploy-lab".
	ID      string
	Clients api.Clients
	// Pause waits for d or until ctx ends; nil waits on a timer.
	Pause func(ctx context.Context, d time.Duration) error
}

// pageSize is as many entries as Google returns at once.
const pageSize = 1000

// Read shows the lines that q chooses, oldest first. A log that does not exist has none.
func (l Log) Read(ctx context.Context, q Query, show func(Line)) error {
	in := &logging.ListLogEntriesRequest{ResourceNames: []string{l.Clients.ProjectName()}, Filter: l.filter(q), OrderBy: "timestamp asc", PageSize: pageSize}
	for {
		page, err := l.readPage(ctx, in)
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			line, err := lineOf(e)
			if err != nil {
				return err
			}
			show(line)
		}
		if page.NextPageToken == "" { // a page may be empty and not the last
			return nil
		}
		in.PageToken = page.NextPageToken
	}
}

// filter is what is asked for. https://cloud.google.com/logging/docs/view/logging-query-language
func (l Log) filter(q Query) string {
	out := "logName=" + strconv.Quote(api.LogName(l.Clients.Project, l.ID))
	if !q.Since.IsZero() {
		out += " AND timestamp>=" + strconv.Quote(q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Instance != "" {
		out += " AND labels." + LabelInstance + "=" + strconv.Quote(q.Instance)
	}
	if q.Unit != "" {
		out += " AND labels." + LabelUnit + "=" + strconv.Quote(q.Unit)
	}
	return out
}

// A project has sixty such calls a minute.
const (
	limitPause  = 5 * time.Second
	limitPauses = 15
)

// readPage reads a page, and waits where too many were asked for.
func (l Log) readPage(ctx context.Context, in *logging.ListLogEntriesRequest) (*logging.ListLogEntriesResponse, error) {
	pause := l.Pause
	if pause == nil {
		pause = wait.For
	}
	for n := 0; ; n++ {
		page, err := api.Do(ctx, l.Clients.Logging.Entries.List(in))
		if cloud.KindOf(err) != cloud.RateLimited || n == limitPauses {
			return page, err
		}
		if err := pause(ctx, limitPause); err != nil {
			return nil, err
		}
	}
}

func lineOf(e *logging.LogEntry) (Line, error) {
	at, err := time.Parse(time.RFC3339Nano, e.Timestamp)
	if err != nil {
		return Line{}, fmt.Errorf("read an entry of %s: %w", e.LogName, err)
	}
	text := e.TextPayload
	if text == "" && len(e.JsonPayload) > 0 { // not from a machine of ours
		text = string(e.JsonPayload)
	}
	return Line{ID: e.Timestamp + " " + e.InsertId, Time: at.UTC(), Instance: e.Labels[LabelInstance], Unit: e.Labels[LabelUnit], Text: text}, nil
}
