package accounting

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

func TestAllocationsOfCommandsHaveNoExperiment(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	noon := moment(t, "2026-03-01T12:00:00Z")
	b := &Book{
		Store: s, Now: func() time.Time { return noon.Add(time.Hour) }, Workspace: func(int32) string { return "=lab" },
		Placed: func() []Entry {
			return []Entry{
				{Allocation: "a.1", Job: "a", Kind: "COMMAND", Username: "ada", Slots: 1, Start: noon},
				{Allocation: "b.1", Job: "b", Kind: "TRIAL", Username: "ada", Slots: 1, Start: noon},
			}
		},
		Experiment: func(job rm.JobID) Subject {
			if job == "b" {
				return Subject{ID: 7}
			}
			return Subject{}
		},
	}
	var out strings.Builder
	if err := b.WriteAllocations(t.Context(), &out, noon, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.1,COMMAND,ada,'=lab,,1,", "b.1,TRIAL,ada,'=lab,7,1,"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", out.String(), want)
		}
	}
}
