package pool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueueListsJobsAsTheyAreServed(t *testing.T) {
	t.Parallel()
	got := Queue([]Allocation{
		task("t1", 2, priority(50), on("a:0,1"), preemptible),
		task("t2", 4, job("big")),
		task("t3", 4, job("big"), on("b:0,1,2,3")),
		task("t4", 1, priority(1), on("a:2")),
	})
	for i := range got {
		got[i].Position, got[i].Submitted = 0, noon
	}
	if diff := cmp.Diff(got, []Job{
		{ID: "t4", Priority: 1, Submitted: noon, Requested: 1, Allocated: 1},
		{ID: "big", Priority: 42, Submitted: noon, Requested: 8, Allocated: 4, Ahead: 1, Backfilled: true},
		{ID: "t1", Priority: 50, Submitted: noon, Requested: 2, Allocated: 2, Preemptible: true, Ahead: 2, Backfilled: true},
	}); diff != "" {
		t.Errorf("got - want +\n%s", diff)
	}
}

func TestAPositionBetweenTwoJobsMovesAThirdThere(t *testing.T) {
	t.Parallel()
	first, second := PositionAt(noon), PositionAt(noon.Add(1000))
	mid, ok := Between(first, second)
	if !ok {
		t.Fatal("no position between two jobs a microsecond apart")
	}
	check(t, Pool{Agents: []Agent{machine("a", 2)}, Allocations: []Allocation{
		task("t1", 1, position(first)), task("t2", 1, position(second)), task("t3", 1, position(mid)),
	}}, want("start t1 a:0", "start t3 a:1", "t2: no free slots"))
	if _, ok := Between(first, first+1); ok {
		t.Error("got a position between neighbours, want none")
	}
	spaced := Respace(3, first)
	if spaced[2] != first {
		t.Errorf("got the last at %d, want %d", spaced[2], first)
	}
	if _, ok := Between(spaced[0], spaced[1]); !ok {
		t.Error("respacing left no room between neighbours")
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	eights := Capacity{MaxAux: 1, Shapes: []Shape{{Slots: 8, Count: 2}, {Slots: 4, Count: 1}}}
	for name, c := range map[string]struct {
		capacity Capacity
		slots    int
		single   bool
		want     bool
	}{
		"one machine is enough":                  {eights, 8, true, true},
		"two machines are enough":                {eights, 16, false, true},
		"one machine is not enough":              {eights, 16, true, false},
		"twelve are three fours":                 {eights, 12, false, true},
		"nine are three threes":                  {eights, 9, false, true},
		"eleven cannot be shared equally":        {eights, 11, false, false},
		"more than everything":                   {eights, 24, false, false},
		"an auxiliary task fits any machine":     {eights, 0, false, true},
		"no auxiliary places":                    {Capacity{Shapes: eights.Shapes}, 0, false, false},
		"an empty pool holds nothing":            {Capacity{MaxAux: 1}, 1, false, false},
		"its first machine will hold auxiliary":  {Capacity{MaxAux: 1}, 0, true, true},
		"a pool yet to be launched counts whole": {Capacity{Shapes: []Shape{{Slots: 8, Count: 1000000}}}, 8000000, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Fits(c.capacity, c.slots, c.single); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
