package machine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/logging/v2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const logName = "projects/" + gcptest.Project + "/logs/det-deploy-lab"

// cursorOf returns the journal cursor of the n-th line.
func cursorOf(n int) string { return fmt.Sprintf("s=0a;i=%x;b=1;m=2;t=3;x=4", n) }

// events returns n lines of the same time, numbered from a start.
func events(from, n int) []journal.Event {
	at := time.Date(2026, 11, 22, 10, 0, 0, 123_000, time.UTC)
	var out []journal.Event
	for i := range n {
		out = append(out, journal.Event{ID: cursorOf(from + i), At: at, Text: fmt.Sprintf("line %d", from+i)})
	}
	return out
}

func texts(entries []*logging.LogEntry) (out []string) {
	for _, e := range entries {
		out = append(out, e.TextPayload)
	}
	return out
}

func TestJournal(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	sink := l.open(t).Logs("det-deploy-lab")
	must(t, sink.Put(t.Context(), name+"/det-deploy-agent", events(9, 2)))
	got := l.world.LogEntries(logName)
	if d := cmp.Diff(texts(got), []string{"line 9", "line 10"}); d != "" {
		t.Fatalf("got -, want +:\n%s", d)
	}
	if d := cmp.Diff(got[0].Labels, map[string]string{"instance": name, "unit": "det-deploy-agent"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	id := got[0].Resource.Labels["instance_id"]
	delete(got[0].Resource.Labels, "instance_id")
	if d := cmp.Diff(got[0].Resource.Labels, map[string]string{"project_id": gcptest.Project, "zone": zone}); d != "" || got[0].Resource.Type != "gce_instance" || len(id) < 10 {
		t.Errorf("got %s %s, -; want +:\n%s", got[0].Resource.Type, id, d)
	}
	// Lines of the same time are ordered by insert ID.
	if got[0].InsertId >= got[1].InsertId {
		t.Errorf("got %s before %s", got[0].InsertId, got[1].InsertId)
	}
}

// A line is stored once, whichever response is lost.
func TestLinesAreStoredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		sink := l.open(t).Logs("det-deploy-lab")
		l.world.FailOp("logging.entries.write", gcptest.LoseReplyOnce, faults.ThrottleOnce, faults.Break, faults.LoseReply)
		must(t, sink.Put(t.Context(), name+"/journal", events(1, 2))) // the response is lost once
		must(t, sink.Put(t.Context(), name+"/journal", events(3, 1))) // throttled once
		for range 2 {                                                 // every attempt returns 500, and the next one is lost
			if err := sink.Put(t.Context(), name+"/journal", events(4, 1)); err == nil {
				t.Error("got no error of an answer that does not come")
			}
		}
		must(t, sink.Put(t.Context(), name+"/journal", events(4, 1)))
		must(t, sink.Put(t.Context(), name+"/journal", events(1, 5))) // the machine re-reads its journal
		if d := cmp.Diff(texts(l.world.LogEntries(logName)), []string{"line 1", "line 2", "line 3", "line 4", "line 5"}); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
	})
}

func TestManyAndLongLines(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	sink := l.open(t).Logs("det-deploy-lab")
	many := events(0, 2500)
	many[7].Text = strings.Repeat("ä", 200<<10)
	must(t, sink.Put(t.Context(), name+"/journal", many))
	got := l.world.LogEntries(logName)
	if len(got) != len(many) || !strings.HasSuffix(got[7].TextPayload, "ä") || len(got[7].TextPayload) < 240<<10 {
		t.Errorf("got %d lines, the long one with %d bytes", len(got), len(got[7].TextPayload))
	}
	ids := map[string]bool{}
	for _, e := range got {
		ids[e.InsertId] = true
	}
	if len(ids) != len(many) {
		t.Errorf("got %d IDs of %d lines", len(ids), len(many))
	}
}

// An entry that Google rejects permanently does not block later ones; an invalid request as a whole
// does not drop entries.
func TestRejectedLineIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		c := l.open(t)
		three := events(1, 3)
		three[1].Text = strings.Repeat("\x01", 100<<10) // six bytes each in JSON
		must(t, c.Logs("det-deploy-lab").Put(t.Context(), name+"/journal", three))
		if d := cmp.Diff(texts(l.world.LogEntries(logName)), []string{"line 1", "line 3"}); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
		if got := l.log.String(); !strings.Contains(got, "Cloud Logging rejected journal entries") || !strings.Contains(got, "lines=1") {
			t.Errorf("got %s, want it logged", got)
		}
		l.world.FailOp("logging.entries.write", faults.Refuse)
		if err := c.Logs("det-deploy-lab").Put(t.Context(), name+"/journal", events(4, 1)); err == nil || !strings.Contains(err.Error(), "write to log det-deploy-lab") {
			t.Errorf("got %v, want the refusal", err)
		}
	})
}

func TestMissingWritePermissionIsNamed(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	p, err := l.owner.ProjectPolicy(t.Context())
	must(t, err)
	p.Bindings = slices.DeleteFunc(p.Bindings, func(b *cloudresourcemanager.Binding) bool { return slices.Contains(b.Members, l.member) })
	must(t, api.Send(t.Context(), l.owner.Resources.Projects.SetIamPolicy(l.owner.ProjectName(), &cloudresourcemanager.SetIamPolicyRequest{Policy: p})))
	err = l.open(t).Logs("det-deploy-lab").Put(t.Context(), name+"/journal", events(1, 1))
	if cloud.KindOf(err) != cloud.Denied || !strings.Contains(err.Error(), "logging.logEntries.create") {
		t.Errorf("got %v, want which permission it lacks", err)
	}
}
