package search

// run is a trial of a simulation: its next point, and when that comes.
type run struct {
	trial, next int
	start, at   float64
	index       int
}

// runs is a heap of runs: who is there first, then who was created first.
type runs []*run

// Len is how many there are.
func (r runs) Len() int { return len(r) }

// Less orders by time.
func (r runs) Less(i, j int) bool {
	if r[i].at != r[j].at {
		return r[i].at < r[j].at
	}
	return r[i].trial < r[j].trial
}

// Swap exchanges two.
func (r runs) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].index, r[j].index = i, j
}

// Push adds one at the end.
func (r *runs) Push(x any) {
	if one, ok := x.(*run); ok {
		one.index = len(*r)
		*r = append(*r, one)
	}
}

// Pop removes the last.
func (r *runs) Pop() any {
	old := *r
	last := old[len(old)-1]
	*r = old[:len(old)-1]
	return last
}
