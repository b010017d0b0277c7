package accounting

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

func TestCostIsThePriceOfEachEntryInItsCurrency(t *testing.T) {
	t.Parallel()
	noon := moment(t, "2026-03-01T12:00:00Z")
	var u Use
	for _, e := range []Entry{
		{Slots: 2, Start: noon, End: noon.Add(time.Hour), Price: &rm.Price{PerHour: 3, Currency: "USD"}},
		{Slots: 1, Start: noon, Price: &rm.Price{PerHour: 1, Currency: "EUR"}},
		{Slots: 4, Start: noon, End: noon.Add(time.Hour)},
		{Slots: 0, Start: noon, Price: &rm.Price{PerHour: 9, Currency: "CHF"}},
		{Slots: 1, Start: noon.Add(-2 * time.Hour), End: noon.Add(-time.Hour), Price: &rm.Price{PerHour: 9, Currency: "CHF"}},
	} {
		u.Add(e, noon, noon.Add(30*time.Minute))
	}
	if want := map[string]float64{"USD": 3, "EUR": 0.5}; u.Slots != 3*time.Hour+30*time.Minute || u.Unpriced != 2*time.Hour || !maps.Equal(u.Costs, want) {
		t.Errorf("got %+v, want %v", u, want)
	}
}

func TestUsageOfCountsEachAllocationOnce(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	noon := moment(t, "2026-03-01T12:00:00Z")
	price := &rm.Price{PerHour: 2, Currency: "USD"}
	entry := func(id string) Entry {
		return Entry{Allocation: rm.AllocationID(id), Job: "x", Slots: 1, Start: noon, Price: price}
	}
	placed := []Entry{entry("x.1"), entry("x.2"), {Allocation: "y.1", Job: "y", Slots: 8, Start: noon, Price: price}}
	ended := placed[0]
	ended.End = noon.Add(time.Hour)
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return Put(tx, ended) }); err != nil {
		t.Fatal(err)
	}
	b := &Book{
		Store: s, Placed: func() []Entry { return placed }, Now: func() time.Time { return noon.Add(3 * time.Hour) },
		Experiment: func(rm.JobID) Subject { return Subject{ID: 5, Name: "digits"} },
	}
	got, err := b.UsageOf(t.Context(), "x")
	if err != nil || got.GetId() != 5 || got.GetSlotHours() != 4 || len(got.GetCosts()) != 1 || got.GetCosts()[0].GetAmount() != 8 {
		t.Errorf("got %v, %v, want 1 and 3 slot-hours for 8 USD", got, err)
	}
	all, err := b.Usage(t.Context(), apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_POOL, noon, noon.Add(time.Hour))
	if err != nil || len(all.GetUsage()) != 1 || all.GetUsage()[0].GetSlotHours() != 10 {
		t.Errorf("got %v, %v, want the ten slot-hours of all three", all, err)
	}
}
