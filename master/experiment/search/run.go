package search

// run is a simulated trial: the index of its next point, and the time at which it occurs.
type run struct {
	trial, next int
	start, at   float64
	index       int
}

// runs is a heap of runs, ordered by the time of the next point and then by trial.
type runs []*run

// Len implements sort.Interface.
func (r runs) Len() int { return len(r) }

// Less implements sort.Interface.
func (r runs) Less(i, j int) bool {
	if r[i].at != r[j].at {
		return r[i].at < r[j].at
	}
	return r[i].trial < r[j].trial
}

// Swap implements sort.Interface.
func (r runs) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].index, r[j].index = i, j
}

// Push implements heap.Interface.
func (r *runs) Push(x any) {
	if one, ok := x.(*run); ok {
		one.index = len(*r)
		*r = append(*r, one)
	}
}

// Pop implements heap.Interface.
func (r *runs) Pop() any {
	old := *r
	last := old[len(old)-1]
	*r = old[:len(old)-1]
	return last
}
