package task

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Owner decides about the tasks of one kind. Every call may be repeated, also after a restart, and must
// then return the same result.
//
//	Start ──▶ queued ──▶ Owner.Run ──▶ runs ──▶ ended ──▶ Owner.Ended ──▶ Again: next run, queued
//	  ▲                                                       │       └─▶ Done: it leaves memory
//	  └───────────────────────────── held ◀── Hold ───────────┘
//	                                   └── End ──▶ it leaves memory
type Owner interface {
	// Run returns the program of a run's containers. It is called before each start, and again by a
	// restarted master that does not know whether they were started. An error fails the run with its
	// text, unless it is the store's.
	Run(ctx context.Context, r RunOrder) (spec.Program, error)
	// Context returns the archive of a task's files, as a tar.gz in parts, and its size in bytes; 0 for
	// none.
	Context(ctx context.Context, id rm.TaskID) (size int64, all iter.Seq2[[]byte, error], err error)
	// Ended returns how to continue after a run. The decision must be stored, by task and run, before
	// Ended returns. After an error it is called again.
	Ended(ctx context.Context, e RunEnd) (Next, error)
	// ChangeJob alters a job in the queue on behalf of a user. It checks the user's permission, stores
	// the change and calls Tasks.Change.
	ChangeJob(ctx context.Context, by *apiv1.User, id rm.JobID, c rm.Change) error
}

// Next is how to continue after a run.
type Next string

// Next values.
const (
	// Again queues the next run at once.
	Again Next = "again"
	// Hold keeps the task until Start or End.
	Hold Next = "hold"
	// Done ends the task. Its log can still be read.
	Done Next = "done"
)

// RunOrder is a run to start.
type RunOrder struct {
	Task rm.TaskID
	Job  rm.JobID
	// Run counts the task's runs from 1.
	Run int
	// Assignment is the placement of its containers.
	Assignment rm.Assignment
	// Unix is the account that its programs run as.
	Unix security.AgentUser
	// Defaults are the container defaults of its pool.
	Defaults container.Defaults
}

// RunEnd is the end of a run.
type RunEnd struct {
	Task       rm.TaskID
	Job        rm.JobID
	Run        int
	Allocation rm.AllocationID
	At         time.Time
	// Cause is CauseExited for a program that exited by itself, with any Code; CauseKilled after End;
	// CausePreempted for one that was signalled and has not reached its own end; CauseAgentLost or
	// CauseRefused. It is never CauseNotHere.
	Cause rm.Cause
	// Code is the program's exit code, nil if it has none.
	Code *int32
	// Status describes the end for people, and Note what is known about a failure besides its Code.
	Status, Note string
	// Signalled reports that it was asked to stop, Heeded that the program acknowledged it.
	Signalled, Heeded bool
	// Agents are the machines that it was placed on.
	Agents []rm.AgentID
}

// StartOrder is an owner's order to run a task.
type StartOrder struct {
	Task rm.TaskID
	Kind lifecycle.Kind
	Job  rm.JobID
	// Run is the number of the run, from 1. A run that has begun or ended is not begun again.
	Run int
	// Name is for people, in the log.
	Name string
	// JobName and Entity are the name and the number of the job in the API; if empty, Name and Task are.
	JobName, Entity string

	UserID    int32
	Username  string
	Unix      security.AgentUser
	Workspace int32
	// Submitted is the job's position in the queue among those of the same priority.
	Submitted time.Time

	Pool string
	// Slots is the number of slots; 0 requests an auxiliary task.
	Slots int
	// MaxSlots limits the slots of all tasks of the job; 0 means unlimited.
	MaxSlots int
	// Priority is 1 (first) to 99; 0 selects the pool's default.
	Priority int
	Weight   float64
	// Preemptible allows the scheduler to preempt the task.
	Preemptible bool
	// PreemptionTimeout is the time between a preemption signal and the kill.
	PreemptionTimeout time.Duration
	SingleNode        bool
	// Excluded lists machines that it must not run on.
	Excluded []rm.AgentID
	// PodSpec is the pod spec of the task, as JSON.
	PodSpec json.RawMessage
	// Warnings are the first lines of its log.
	Warnings []string
}

// Status is the status of an owned task.
type Status struct {
	// State is QUEUED, PULLING, STARTING, RUNNING or TERMINATING; TERMINATED for a task that is held, or
	// whose owner has not decided how to continue.
	State      lifecycle.State
	Allocation rm.AllocationID
	Run        int
	Held       bool
	// Waiting is the reason why it does not run yet, empty once it does.
	Waiting string
}
