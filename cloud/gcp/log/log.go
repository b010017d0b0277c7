// Package log reads the log of a cluster in Cloud Logging and defines the labels of its entries.
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

// The labels of an entry: the name of the instance, and the systemd unit that wrote it.
const (
	LabelInstance = "instance"
	LabelUnit     = "unit"
)

// Line is one line of a log.
type Line struct {
	// ID identifies the line. It is stable across reads.
	ID             string
	Time           time.Time
	Instance, Unit string
	Text           string
}

// Query selects lines.
type Query struct {
	// Since is the minimum time of the lines. Zero means no limit.
	Since time.Time
	// Instance is the name of an instance, and Unit one of its units: "det-deploy-master". Empty
	// matches all.
	Instance, Unit string
}

// Log is a log of a project.
type Log struct {
	// ID is its log ID: "det-deploy-lab".
	ID      string
	Clients api.Clients
	// Pause waits for d or until ctx is done. Nil uses a timer.
	Pause func(ctx context.Context, d time.Duration) error
}

// pageSize is the maximum number of entries per page.
const pageSize = 1000

// Read calls show for the lines that match q, oldest first. It returns nil if the log does not
// exist.
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
		if page.NextPageToken == "" { // a page may be empty without being the last one
			return nil
		}
		in.PageToken = page.NextPageToken
	}
}

// filter returns the query of a list call.
// https://cloud.google.com/logging/docs/view/logging-query-language
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

// A project is limited to sixty such calls per minute.
const (
	limitPause  = 5 * time.Second
	limitPauses = 15
)

// readPage reads a page. It waits and retries after exceeding the rate limit.
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
	if text == "" && len(e.JsonPayload) > 0 { // not written by det-deploy
		text = string(e.JsonPayload)
	}
	return Line{ID: e.Timestamp + " " + e.InsertId, Time: at.UTC(), Instance: e.Labels[LabelInstance], Unit: e.Labels[LabelUnit], Text: text}, nil
}
