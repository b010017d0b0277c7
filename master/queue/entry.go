package queue

import "github.com/det-deploy/det-deploy/master/rm"

// Stage is how far an allocation is, as far as its queue is concerned. The resource
// manager sets it as the allocation moves.
//
//	Waiting ──is decided──▶ Starting ──has its slots──▶ Running
//	   ▲  └──────────is placed at once──────────────────▲
//	   └────is undone──────────┘
type Stage string

const (
	// Waiting has nothing anywhere; it can be moved to another pool as it is.
	Waiting Stage = "waiting"
	// Starting has begun to be placed; it is listed among those that wait, and is
	// preempted to be moved.
	Starting Stage = "starting"
	// Running holds its slots until it has ended.
	Running Stage = "running"
)

// Entry is one allocation in the queue.
type Entry struct {
	rm.Request
	// Parent is the allocation's job.
	Parent *Job
	// Pool and Priority are those in force; those that were asked for are the Request's.
	Pool     string
	Priority int
	Stage    Stage

	withdrawn bool
	// at is where it stands among those of its job.
	at int
}

// SlotLimit caps the slots of all allocations of the job; 0 does not.
func (e *Entry) SlotLimit() int {
	if changed := e.Parent.Settings.MaxSlots; changed != nil {
		return *changed
	}
	return e.MaxSlots
}
