// Package rm is what a task asks of the resource manager that runs it, and what it is
// told in return. Tasks know only this package; agents (master/agentrm) and
// Kubernetes (k8s/pods) stand behind it.
//
// It is a leaf: it imports only the API's messages.
package rm

import (
	"context"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The identities that must not be mixed up.
type (
	// TaskID names a task: a UUID.
	TaskID string
	// AllocationID names one try to run a task: "<task>.<n>", n from 1.
	AllocationID string
	// JobID names what the queue orders; a command is a job of its own.
	JobID string
	// ContainerID names one container of an allocation: a UUID.
	ContainerID string
	// AgentID names a machine or a node.
	AgentID string
)

// Uncategorized is the one workspace there is.
const Uncategorized = "Uncategorized"

// Request is one allocation that wants resources. It is a value that a
// restarted master builds again from its store.
type Request struct {
	Allocation AllocationID
	Task       TaskID
	Job        JobID
	JobType    apiv1.Job_Type
	Name       string
	// JobName and Entity are the name and the number that clients know the job by; empty
	// are Name and Task.
	JobName  string
	Entity   string
	Username string
	UserID   int32
	// Workspace is the name of the one that the task belongs to.
	Workspace string

	// Pool is a resource pool's name; empty chooses the default one for Slots.
	Pool string
	// Slots is how many devices are wanted at once; 0 is an auxiliary task.
	Slots int
	// Priority is 1 (first) to 99; 0 takes the pool's default.
	Priority int
	Weight   float64
	// MaxSlots caps the slots of all the job's allocations; 0 does not.
	MaxSlots int
	// Preemptible allows the scheduler to ask for the slots back.
	Preemptible bool
	// PreemptionTimeout is how long after a preemption signal the allocation
	// may run on before it is killed.
	PreemptionTimeout time.Duration
	// SingleNode forbids more than one agent.
	SingleNode bool
	// ExcludedAgents are never used.
	ExcludedAgents []AgentID
	// Trusted says that the owner is an administrator, at the moment the request is made: it may
	// run where tasks are not isolated.
	Trusted bool `json:",omitempty"`
	// FixedPaths says that the program reads files at fixed paths.
	FixedPaths bool `json:",omitempty"`
	// Policy is what the task may do to its machine; nil is an administrator's. It is
	// not stored: a request carries the policy of the moment it is made.
	Policy *apiv1.TaskPolicy `json:"-"`
	// Ports are base numbers. Of each, all containers get one port number, at or above the
	// base, that nothing else on their machines was given.
	Ports []int `json:",omitempty"`
	// PodSpec is what the task says of its pod, as JSON, for those who run tasks
	// as pods; empty for nothing.
	PodSpec   []byte
	Submitted time.Time
	// NotBefore is when it may be placed at the earliest, zero for now; Delayed is why,
	// for people. Only agents delay: elsewhere nothing ends with CauseNotHere.
	NotBefore time.Time
	Delayed   string
	// Avoid lists agents that could not start it: for a minute from NotBefore it waits
	// for others, if there are enough of them.
	Avoid []AgentID
}

// ResourceManager runs allocations. Its methods may be called at any time and
// from any goroutine; none waits for an agent or a cloud.
type ResourceManager interface {
	// Validate says whether r can run at all with what the pool has or may
	// grow to. The error is an *Unfulfillable, or says what is wrong with r.
	Validate(r Request) error
	// Submit queues r. Submitting an allocation that is known is not an
	// error and changes nothing: that is how a restarted master reattaches.
	Submit(ctx context.Context, r Request) error
	// Kill ends an allocation, queued or running; an unknown or ended one is
	// not an error.
	Kill(ctx context.Context, id AllocationID, reason string) error
	// Preempt asks a running allocation to save itself and stop, and kills
	// it when its PreemptionTimeout has passed.
	Preempt(ctx context.Context, id AllocationID, reason string) error
	// Change alters a job in its queue. The error is ErrUnknownJob, or says
	// which change is refused.
	Change(ctx context.Context, id JobID, c Change) error
	// Allocation describes one that is queued or running.
	Allocation(id AllocationID) (Allocation, bool)
	// Priority is the one in force of an allocation that is queued or running.
	Priority(id AllocationID) (int, bool)
	// PriorityChanges counts the changes of jobs: while it stays the same, so do the priorities
	// of allocations that are queued or running.
	PriorityChanges() uint64
	// Queue lists a part of the jobs in the order in which they are served.
	Queue(p QueuePart) []*apiv1.Job
	// Pools lists the resource pools by name, with what they have and what they do.
	Pools() []*apiv1.ResourcePool
	// PoolSettings lists what is configured of the same pools, by name. It counts
	// nothing, so that it is quick however large they are.
	PoolSettings() []PoolSettings
}

// PoolSettings is what a task has to know of a pool.
type PoolSettings struct {
	Name string
	// DefaultCompute and DefaultAux say that it gets tasks with and without slots that
	// name no pool.
	DefaultCompute, DefaultAux bool
	// DefaultPriority is that of jobs that name none: 1, the first, to 99.
	DefaultPriority int
}

// Machines is implemented by resource managers that can show, and switch off,
// the machines that they run on.
type Machines interface {
	// Agents lists the machines by id.
	Agents() []*apiv1.Agent
	// SetAgent changes one machine: enabled, or disabled with or without
	// letting its tasks finish. The error is ErrUnknownAgent.
	SetAgent(ctx context.Context, id AgentID, s Switch) (*apiv1.Agent, error)
	// SetSlot changes one slot. The error is ErrUnknownAgent or ErrUnknownSlot.
	SetSlot(ctx context.Context, id AgentID, slot int, s Switch) (*apiv1.Slot, error)
}

// Remarks is implemented by resource managers with which some of what a task may ask
// for does nothing.
type Remarks interface {
	// Remarks says of each such thing in r, as a sentence for the task's owner,
	// that it has no effect and why.
	Remarks(r Request) []string
}

// Claims is implemented by resource managers that make volume claims.
type Claims interface {
	// CheckClaim says why a task that mounts the claim would wait for ever, as a sentence for its owner.
	CheckClaim(name string) error
}

// Switch is what an operator wants of a machine or a slot.
type Switch string

// The switches.
const (
	Enable Switch = "enable"
	// Disable ends what runs there.
	Disable Switch = "disable"
	// Drain lets what runs there finish and starts nothing new.
	Drain Switch = "drain"
)

// Change is one alteration of a job; nil fields stay as they are.
type Change struct {
	Priority *int
	Weight   *float64
	// MaxSlots of 0 takes the limit away.
	MaxSlots *int
	Pool     *string
	// AheadOf and BehindOf move the job beside another of the same pool.
	AheadOf  *JobID
	BehindOf *JobID
}

// Allocation is what a resource manager knows of one allocation.
type Allocation struct {
	Request Request
	// Pool and Priority are those in force.
	Pool     string
	Priority int
	// Waiting says in words why it does not run yet, placed or not; empty once it does.
	Waiting    string
	Containers []Container
	// PreemptBy is when a preempted allocation is killed; zero when it is
	// not preempted.
	PreemptBy time.Time
}

// Container is one part of a placed allocation.
type Container struct {
	ID      ContainerID
	Agent   AgentID
	Devices []*apiv1.Device
	Rank    int
	State   apiv1.Container_State
}
