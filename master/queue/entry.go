package queue

import "github.com/det-deploy/det-deploy/master/rm"

// Stage is the progress of an allocation as seen by its queue. The resource manager sets it.
//
//	Waiting ──decided──▶ Starting ──has its slots──▶ Running
//	   ▲  └──────────placed at once─────────────────▲
//	   └────undone─────────┘
type Stage string

const (
	// Waiting holds no resources. It can be moved to another pool directly.
	Waiting Stage = "waiting"
	// Starting is being placed. It is listed as waiting, but has to be preempted to be moved.
	Starting Stage = "starting"
	// Running holds its slots until it has ended.
	Running Stage = "running"
)

// Entry is one allocation in the queue.
type Entry struct {
	rm.Request
	// Parent is the allocation's job.
	Parent *Job
	// Pool and Priority are the effective ones; the Request has the requested ones.
	Pool     string
	Priority int
	Stage    Stage

	withdrawn bool
	// at is the index in the entries of the job.
	at int
}

// SlotLimit returns the limit on the slots of all allocations of the job; 0 means unlimited.
func (e *Entry) SlotLimit() int {
	if changed := e.Parent.Settings.MaxSlots; changed != nil {
		return *changed
	}
	return e.MaxSlots
}
