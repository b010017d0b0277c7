package pool

import "testing"

func TestMoveBetweenTwoJobs(t *testing.T) {
	t.Parallel()
	check(t, Pool{Agents: []Agent{machine("a", 2)}, Allocations: []Allocation{
		task("t1", 1, position(10)), task("t2", 1, position(12)), task("t3", 1, position(11)),
	}}, want("start t1 a:0", "start t3 a:1", "t2: no free slots"))
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
