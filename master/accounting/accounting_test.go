package accounting

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSlotTimeIsLimitedToTheRange(t *testing.T) {
	t.Parallel()
	noon := moment(t, "2026-03-01T12:00:00Z")
	e := Entry{Slots: 4, Start: noon, End: noon.Add(3 * time.Hour)}
	for _, c := range []struct {
		from, until time.Duration
		want        time.Duration
	}{
		{0, 3 * time.Hour, 12 * time.Hour},
		{-time.Hour, 9 * time.Hour, 12 * time.Hour},
		{time.Hour, 2 * time.Hour, 4 * time.Hour},
		{4 * time.Hour, 5 * time.Hour, 0},
		{-2 * time.Hour, -time.Hour, 0},
	} {
		if got := e.SlotTime(noon.Add(c.from), noon.Add(c.until)); got != c.want {
			t.Errorf("from %s until %s: got %s, want %s", c.from, c.until, got, c.want)
		}
	}
	e.End = time.Time{}
	if got := e.SlotTime(noon, noon.Add(time.Hour)); got != 4*time.Hour {
		t.Errorf("while it runs: got %s, want 4h", got)
	}
}

func TestAddDividesAtMidnight(t *testing.T) {
	t.Parallel()
	list := []Entry{
		{Username: "ada", Pool: "gpu", Slots: 2, Job: "a", Start: moment(t, "2026-02-28T22:00:00Z"), End: moment(t, "2026-03-01T01:00:00Z")},
		{Username: "bob", Pool: "gpu", Slots: 1, Start: moment(t, "2026-03-01T11:00:00Z")},
	}
	labels := func(e Entry) []string {
		if e.Job == "a" {
			return []string{"vision", "thesis"}
		}
		return nil
	}
	now := moment(t, "2026-03-01T12:00:00Z")
	sums := Add(list, Range{Daily, moment(t, "2026-02-28T05:00:00Z"), moment(t, "2026-03-02T00:00:00Z")}, now, labels)
	if len(sums) != 3 {
		t.Fatalf("got %d days, want 3", len(sums))
	}
	want := []Sum{
		{Total: 4 * time.Hour, ByUser: map[string]time.Duration{"ada": 4 * time.Hour}, ByLabel: map[string]time.Duration{"vision": 4 * time.Hour, "thesis": 4 * time.Hour}},
		{
			Total: 3 * time.Hour, ByUser: map[string]time.Duration{"ada": 2 * time.Hour, "bob": time.Hour},
			ByLabel: map[string]time.Duration{"vision": 2 * time.Hour, "thesis": 2 * time.Hour},
		},
		{},
	}
	for i, s := range sums {
		if s.Total != want[i].Total || !maps.Equal(s.ByUser, want[i].ByUser) || !maps.Equal(s.ByLabel, want[i].ByLabel) {
			t.Errorf("day %d: got %+v, want %+v", i, s, want[i])
		}
	}
	if months := Add(list, Range{Monthly, list[0].Start, now}, now, labels); len(months) != 2 || months[1].ByPool["gpu"] != 3*time.Hour {
		t.Errorf("got %+v", months)
	}
}

func TestEndedAndOfJob(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	start := moment(t, "2026-03-01T12:00:00Z")
	for i, id := range []rm.AllocationID{"a.1", "a.2", "b.1"} {
		at := start.Add(time.Duration(i) * time.Hour)
		e := Entry{Allocation: id, Job: rm.JobID(id[:1]), Slots: 1, Start: at, End: at.Add(time.Minute)}
		for range 2 { // a repeated end is stored once
			if err := s.Write(t.Context(), func(tx *store.Tx) error { return Put(tx, e) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := Ended(t.Context(), s, start.Add(time.Hour), start.Add(90*time.Minute))
	if err != nil || len(list) != 1 || list[0].Allocation != "a.2" {
		t.Errorf("got %+v, %v", list, err)
	}
	if list, err = OfJob(t.Context(), s, "a"); err != nil || len(list) != 2 {
		t.Errorf("got %+v, %v", list, err)
	}
}
