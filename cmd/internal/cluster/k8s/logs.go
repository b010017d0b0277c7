package k8s

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

// logQuery selects log lines.
type logQuery struct {
	Database bool
	Follow   bool
	Previous bool
	Tail     int
	Since    string
	Output   term.Format
}

func (q *logQuery) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&q.Database, "database", false, "show the log of the database instead")
	cluster.AddFollow(f, &q.Follow)
	f.BoolVar(&q.Previous, "previous", false, "show the log before the last restart")
	f.IntVar(&q.Tail, "tail", 0, "number of last lines to show (default all)")
	f.StringVar(&q.Since, "since", "", "show lines since a duration such as 10m or 1d, a date, or a time such as 2006-01-02T15:04:05Z")
	q.Output.AddFlag(f)
}

func (q *logQuery) validate() error {
	switch {
	case q.Tail < 0:
		return usage.Errorf("--tail: must be 0 or more (is %d)", q.Tail)
	case q.Previous && q.Follow:
		return usage.Errorf("use either --previous or --follow")
	}
	_, err := usage.Since(q.Since, time.Now())
	return err
}

// line is the JSON output of a log line, one object per line.
type line struct {
	Schema string `json:"schema"`

	target.LogLine
}

// Logs prints the log of the master or of its database.
func (w *wanted) Logs(ctx context.Context, _ cluster.Request) error {
	k, err := openExisting(ctx, w.Streams, &w.Which)
	if err != nil {
		return err
	}
	q := target.LogQuery{Component: "master", Tail: int64(w.Tail), Previous: w.Previous, Follow: w.Follow}
	if w.Database {
		q.Component = "database"
	}
	if q.Since, err = usage.Since(w.Since, time.Now()); err != nil {
		return err
	}
	return k.Target.Logs(ctx, q, func(l target.LogLine) {
		cluster.PrintLine(w.Streams, w.Output, line{"det-deploy.k8s-log/v1", l}, l.Text)
	})
}
