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

// Owner decides about the tasks of one kind. Every call may come again, after a restart too,
// and must then answer the same.
//
//	Start ──▶ queued ──▶ Owner.Run ──▶ runs ──▶ ended ──▶ Owner.Ended ──▶ Again: next run, queued
//	  ▲                                                       │       └─▶ Done: it leaves memory
//	  └───────────────────────────── held ◀── Hold ───────────┘
//	                                   └── End ──▶ it leaves memory
type Owner interface {
	// Run says what the containers of a run execute. It is asked before each start, and
	// again by a restarted master that does not know whether they were started. An error
	// refuses the run with that sentence, unless it is the store's.
	Run(ctx context.Context, r RunOrder) (spec.Program, error)
	// Context is the archive of the files that come with a task, as a tar.gz in parts,
	// and its size in bytes; 0 for none.
	Context(ctx context.Context, id rm.TaskID) (size int64, all iter.Seq2[[]byte, error], err error)
	// Ended says what follows the end of a run. The decision is stored before it is
	// answered, by task and run. After an error it is asked again.
	Ended(ctx context.Context, e RunEnd) (Next, error)
	// ChangeJob alters a job of its in the queue, as a user asks for. It checks whether by may,
	// stores the change and calls Tasks.Change.
	ChangeJob(ctx context.Context, by *apiv1.User, id rm.JobID, c rm.Change) error
}

// Next is what follows the end of a run.
type Next string

// What follows.
const (
	// Again queues the next run at once.
	Again Next = "again"
	// Hold keeps the task until Start or End.
	Hold Next = "hold"
	// Done ends the task. Its log can still be read.
	Done Next = "done"
)

// RunOrder is a run that is to be started.
type RunOrder struct {
	Task rm.TaskID
	Job  rm.JobID
	// Run counts the task's runs from 1.
	Run int
	// Assignment is where its containers are.
	Assignment rm.Assignment
	// Unix is the account that its programs run as.
	Unix security.AgentUser
	// Defaults is what the containers of its pool get.
	Defaults container.Defaults
}

// RunEnd is the end of a run.
type RunEnd struct {
	Task       rm.TaskID
	Job        rm.JobID
	Run        int
	Allocation rm.AllocationID
	At         time.Time
	// Cause is CauseExited for a program that ended by itself, with Code 0 or not;
	// CauseKilled upon End; CausePreempted for one that was signalled and has not reached
	// its own end; CauseAgentLost and CauseRefused. It is never CauseNotHere.
	Cause rm.Cause
	// Code is the program's, nil where there is none.
	Code *int32
	// Status says how it ended, for people.
	Status string
	// Signalled says that it was asked to stop, Heeded that the program acknowledged it.
	Signalled, Heeded bool
	// Agents are the machines that it was placed on.
	Agents []rm.AgentID
}

// StartOrder is a task that its owner wants to run.
type StartOrder struct {
	Task rm.TaskID
	Kind lifecycle.Kind
	Job  rm.JobID
	// Run is the number of the run that is wanted, from 1. One that has begun or ended is
	// not begun again.
	Run int
	// Name is for people, in the log.
	Name string
	// JobName and Entity are the name and the number that clients know the job by in the
	// queue; empty are Name and Task.
	JobName, Entity string

	UserID    int32
	Username  string
	Unix      security.AgentUser
	Workspace int32
	// Submitted is the job's place in the queue among those of the same priority.
	Submitted time.Time

	Pool string
	// Slots is how many devices are wanted at once; 0 is an auxiliary task.
	Slots int
	// MaxSlots caps the slots of all tasks of the job; 0 does not.
	MaxSlots int
	// Priority is 1 (first) to 99; 0 takes the pool's default.
	Priority int
	Weight   float64
	// Preemptible allows the scheduler to ask for the slots back.
	Preemptible bool
	// PreemptionTimeout is how long after a signal it may run on before it is killed.
	PreemptionTimeout time.Duration
	SingleNode        bool
	// Excluded lists machines that it must not run on.
	Excluded []rm.AgentID
	// PodSpec is what it says of its pod, as JSON.
	PodSpec json.RawMessage
	// Warnings begin its log.
	Warnings []string
}

// Status is where an owned task stands.
type Status struct {
	// State is QUEUED, PULLING, STARTING, RUNNING or TERMINATING; TERMINATED for one that
	// is held, or whose owner has not said what follows.
	State      lifecycle.State
	Allocation rm.AllocationID
	Run        int
	Held       bool
	// Waiting says why it does not run yet, empty once it does.
	Waiting string
}
