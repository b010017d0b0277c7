package lifecycle

// Progress is how far an allocation is, as clients know it.
type Progress string

// How far an allocation is, the least first.
const (
	Queued   Progress = "QUEUED"
	Pulling  Progress = "PULLING"
	Starting Progress = "STARTING"
	Running  Progress = "RUNNING"
)

func (p Progress) order() int {
	switch p {
	case Pulling:
		return 1
	case Starting:
		return 2
	case Running:
		return 3
	case Queued:
	}
	return 0
}

// Show is the state that clients are shown: one that is active is as far as its most progressed
// allocation. Every other is shown as it is; PAUSED is shown at once, while containers may still
// save themselves.
func Show(s State, allocations []Progress) string {
	if s != Active {
		return string(s)
	}
	most := Queued
	for _, p := range allocations {
		if p.order() > most.order() {
			most = p
		}
	}
	return string(most)
}
