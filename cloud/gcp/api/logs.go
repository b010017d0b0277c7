package api

import (
	"context"
	"net/url"

	"google.golang.org/api/logging/v2"
	"google.golang.org/api/monitoring/v3"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Logs are the logs of the project in Cloud Logging, by their ID: "det-deploy-lab".
type Logs struct {
	// Write appends entries. Google keeps one of those with the same time and insertId.
	Write func(ctx context.Context, in *logging.WriteLogEntriesRequest) error
	// Page reads one page of entries of the project. It may be empty and not the last.
	Page func(ctx context.Context, in *logging.ListLogEntriesRequest) (*logging.ListLogEntriesResponse, error)
	// List lists the IDs of those that have entries.
	List func(ctx context.Context) ([]string, error)
	// Delete removes all entries of a log.
	Delete func(ctx context.Context, id string) error
}

func newLogs(g *gateway, entries *logging.EntriesService, s *logging.ProjectsLogsService) Logs {
	return Logs{
		Write: func(ctx context.Context, in *logging.WriteLogEntriesRequest) error {
			ctx, c := g.begin(ctx, "logging.entries.write")
			c.repeatable = haveIDs(in.Entries)
			return done(send(ctx, c, entries.Write(in).Context(ctx).Do))
		},
		Page: func(ctx context.Context, in *logging.ListLogEntriesRequest) (*logging.ListLogEntriesResponse, error) {
			ask := *in
			ask.ResourceNames = []string{"projects/" + g.project}
			ctx, c := g.begin(ctx, "logging.entries.list")
			return send(ctx, c, entries.List(&ask).Context(ctx).Do)
		},
		List: func(ctx context.Context) ([]string, error) {
			return readPages(func(token string) ([]string, string, error) {
				ctx, c := g.begin(ctx, "logging.projects.logs.list")
				page, err := send(ctx, c, s.List("projects/"+g.project).PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return logIDs(g.project, page.LogNames), page.NextPageToken, nil
			})
		},
		Delete: func(ctx context.Context, id string) error {
			ctx, c := g.begin(ctx, "logging.projects.logs.delete")
			return done(send(ctx, c, s.Delete(LogName(g.project, id)).Context(ctx).Do))
		},
	}
}

// LogName is the full name of a log.
func LogName(project, id string) string { return "projects/" + project + "/logs/" + url.PathEscape(id) }

// haveIDs reports whether Google knows all entries again when they are sent twice.
func haveIDs(entries []*logging.LogEntry) bool {
	for _, e := range entries {
		if e.InsertId == "" || e.Timestamp == "" {
			return false
		}
	}
	return true
}

func logIDs(project string, names []string) []string {
	start := len(LogName(project, ""))
	var out []string
	for _, name := range names {
		if id, err := url.PathUnescape(name[min(start, len(name)):]); err == nil {
			out = append(out, id)
		}
	}
	return out
}

// Metrics are the project's own metrics in Cloud Monitoring.
type Metrics struct {
	// Write appends a point to each of some series, each of which is there once. A point
	// has to be five seconds younger than the one before.
	Write func(ctx context.Context, in []*monitoring.TimeSeries) error
}

func newMetrics(g *gateway, s *monitoring.ProjectsTimeSeriesService) Metrics {
	return Metrics{
		Write: func(ctx context.Context, in []*monitoring.TimeSeries) error {
			ctx, c := g.begin(ctx, "monitoring.projects.timeSeries.create")
			return done(send(ctx, c, s.Create("projects/"+g.project, &monitoring.CreateTimeSeriesRequest{TimeSeries: in}).Context(ctx).Do))
		},
	}
}

func logCalls() edge.Calls {
	return edge.Calls{
		edge.Writes("logging.entries.write", "logging.logEntries.create"),
		edge.Reads("logging.entries.list", "logging.logEntries.list"),
		edge.Reads("logging.projects.logs.list", "logging.logs.list"),
		edge.Writes("logging.projects.logs.delete", "logging.logs.delete"),
		edge.Writes("monitoring.projects.timeSeries.create", "monitoring.timeSeries.create"),
	}
}
