package pool

// Shape is a number of machines with the same number of slots.
type Shape struct {
	Slots int
	Count int
}

// Capacity is the resources of a pool in which nothing runs.
type Capacity struct {
	MaxAux int
	Shapes []Shape
}

// Fits reports whether an allocation of that many slots could ever be placed: on one machine or, unless
// singleNode, in equal shares on several. A request that does not fit fails with "request unfulfillable"
// at submission, where its owner can still change it, and never blocks others. Zero slots fit on any
// machine, also on the first one that a pool launches.
func Fits(c Capacity, slots int, singleNode bool) bool {
	if slots == 0 {
		return c.MaxAux > 0
	}
	var h histogram
	for _, s := range c.Shapes {
		h.addCount(s.Slots, s.Count)
	}
	return h.fewestMachines(slots, singleNode, nil) > 0
}

// histogram counts machines by the number of units each can give.
type histogram []int

func (h *histogram) addCount(units, count int) {
	if units < 0 {
		return
	}
	for len(*h) <= units {
		*h = append(*h, 0)
	}
	(*h)[units] += count
}

// fewestMachines returns the smallest number of machines over which n units can be split in equal
// shares, or 0 if that is impossible. Less lists the units of machines that must not be counted.
//
// A request that fits still fits when machines gain units; both the pruning of victims and the cache of
// failed requests rely on that.
func (h histogram) fewestMachines(n int, single bool, less []int) int {
	most := 0
	for _, count := range h {
		most += count
	}
	if single {
		most = 1
	}
	for m := 1; m <= min(n, most); m++ {
		if n%m == 0 && h.atLeast(n/m, less) >= m {
			return m
		}
	}
	return 0
}

func (h histogram) atLeast(units int, less []int) int {
	count := 0
	for u := units; u < len(h); u++ {
		count += h[u]
	}
	for _, u := range less {
		if u >= units {
			count--
		}
	}
	return count
}
