package lifecycle

// Progress is the progress of an allocation as displayed to clients.
type Progress string

// The progress of an allocation in ascending order.
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

// Show returns the displayed state. An active experiment or trial shows the progress of its most
// advanced allocation. PAUSED is shown immediately, although containers may still be saving
// checkpoints.
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
