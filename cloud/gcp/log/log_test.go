package log_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/log"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

var began = time.Date(2026, 11, 22, 10, 0, 0, 500_000, time.UTC)

// newLog returns a log with four lines of two instances, and one of another cluster.
func newLog(t *testing.T) (*gcptest.World, log.Log) {
	t.Helper()
	w := gcptest.New(t, gcptest.Options{})
	c, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: "us-central1"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(id string, n int, instance, unit string) {
		entry := &logging.LogEntry{
			LogName: api.LogName(gcptest.Project, id), TextPayload: fmt.Sprintf("line %d", n), InsertId: fmt.Sprint(n),
			Timestamp: began.Add(time.Duration(n) * time.Second).Format(time.RFC3339Nano), Resource: &logging.MonitoredResource{Type: "global"},
			Labels: map[string]string{log.LabelInstance: instance, log.LabelUnit: unit},
		}
		if err := api.Send(t.Context(), c.Logging.Entries.Write(&logging.WriteLogEntriesRequest{Entries: []*logging.LogEntry{entry}})); err != nil {
			t.Fatal(err)
		}
	}
	write("det-deploy-lab", 2, "det-lab-a", "journal")
	write("det-deploy-lab", 1, "det-lab-master", "det-deploy-master")
	write("det-deploy-lab", 4, "det-lab-master", "journal")
	write("det-deploy-lab", 3, "det-lab-a", "det-deploy-agent")
	write("det-deploy-lab-2", 1, "det-lab-2-master", "det-deploy-master")
	return w, log.Log{ID: "det-deploy-lab", Clients: c}
}

func read(t *testing.T, l log.Log, q log.Query) (out []string) {
	t.Helper()
	seen := map[string]bool{}
	if err := l.Read(t.Context(), q, func(line log.Line) {
		out = append(out, line.Time.Sub(began).String()+" "+line.Instance+" "+line.Unit+": "+line.Text)
		seen[line.ID] = true
	}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(out) {
		t.Errorf("got %d IDs of %d lines", len(seen), len(out))
	}
	return out
}

func TestQuerySelectsLines(t *testing.T) {
	t.Parallel()
	_, l := newLog(t)
	all := []string{
		"1s det-lab-master det-deploy-master: line 1", "2s det-lab-a journal: line 2",
		"3s det-lab-a det-deploy-agent: line 3", "4s det-lab-master journal: line 4",
	}
	for name, tt := range map[string]struct {
		query log.Query
		want  []string
	}{
		"all, over two pages": {log.Query{}, all},
		"of a machine":        {log.Query{Instance: "det-lab-a"}, all[1:3]},
		"of a unit":           {log.Query{Unit: "journal"}, []string{all[1], all[3]}},
		"since":               {log.Query{Since: began.Add(3 * time.Second)}, all[2:]},
		"a name with a quote": {log.Query{Instance: `x" OR instance="`}, nil},
		"of a machine, since": {log.Query{Instance: "det-lab-a", Since: began.Add(2500 * time.Millisecond)}, all[2:3]},
	} {
		if d := cmp.Diff(read(t, l, tt.query), tt.want); d != "" {
			t.Errorf("%s: got -, want +:\n%s", name, d)
		}
	}
	l.ID = "det-deploy-none"
	if got := read(t, l, log.Query{}); got != nil {
		t.Errorf("got %v of a log that does not exist", got)
	}
}

func TestReadRetriesAfterRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, l := newLog(t)
		waited := 0
		l.Pause = func(ctx context.Context, d time.Duration) error {
			waited++
			return w.Sleep(ctx, d)
		}
		w.FailOp("logging.entries.list", faults.Throttle, faults.Throttle)
		if got := read(t, l, log.Query{}); len(got) != 4 || waited != 2 {
			t.Errorf("got %v after %d pauses", got, waited)
		}
		w.FailOp("logging.entries.list", slices.Repeat([]faults.Fault{faults.Throttle}, 20)...)
		if err := l.Read(t.Context(), log.Query{}, func(log.Line) {}); cloud.KindOf(err) != cloud.RateLimited {
			t.Errorf("got %v, want that it gives up", err)
		}
	})
}
