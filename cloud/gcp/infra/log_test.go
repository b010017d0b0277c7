package infra_test

import (
	"context"
	"path"
	"slices"
	"testing"
	"time"

	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// writeLog writes log entries like the machines of the cluster and those of lab-2.
func (s *stage) writeLog(ctx context.Context) error {
	c := s.cluster(ctx, nil).Clients
	var in logging.WriteLogEntriesRequest
	for _, cluster := range []string{s.id, s.id + "-2"} {
		in.Entries = append(in.Entries, &logging.LogEntry{
			LogName: api.LogName(gcptest.Project, storage.LogID(cluster)), TextPayload: "hello", InsertId: "1",
			Timestamp: time.Now().Format(time.RFC3339Nano), Resource: &logging.MonitoredResource{Type: "global"},
		})
	}
	return api.Send(ctx, c.Logging.Entries.Write(&in))
}

// logs returns the logs with entries.
func (s *stage) logs(t *testing.T) []string {
	t.Helper()
	c := s.clients(t)
	all, err := api.List(t.Context(), c.Logging.Projects.Logs.List(c.ProjectName()), func(p *logging.ListLogsResponse) []string { return p.LogNames })
	must(t, err)
	var out []string
	for _, name := range all {
		out = append(out, path.Base(name))
	}
	return out
}

func TestDownDeletesLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		must(t, s.writeLog(t.Context()))
		if got := s.live(t); !slices.Contains(got, "log/det-deploy-lab") || slices.Contains(got, "log/det-deploy-lab-2") {
			t.Errorf("got %v, want the log of the cluster and no other", got)
		}
		s.wantNothingToDo(t)
		s.world.FailOp("logging.projects.logs.delete", faults.LoseReply)
		must(t, s.down(t.Context()))
		must(t, s.down(t.Context()))
		if got := s.logs(t); !slices.Equal(got, []string{"det-deploy-lab-2"}) {
			t.Errorf("got %v, want the other cluster's alone", got)
		}
	})
}

func TestDownKeepsLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.keepLogs = true
		must(t, s.up(t.Context()))
		must(t, s.writeLog(t.Context()))
		must(t, s.remove(t.Context(), false))
		if got := s.logs(t); !slices.Contains(got, "det-deploy-lab") {
			t.Errorf("got %v, want that it is kept", got)
		}
		fs, err := infra.Objects{Cluster: s.cluster(t.Context(), nil)}.Inventory(t.Context(), s.id)
		must(t, err)
		for _, f := range fs {
			if f.Kind == "log" && f.Retain != "log retention is enabled" {
				t.Errorf("got %+v, want why it is kept", f)
			}
		}
	})
}
