// Package rm defines the interface between tasks and the resource manager that runs them. Tasks depend
// on this package only; agents (master/agentrm) and Kubernetes (k8s/pods) implement it.
//
// It is a leaf: it imports only the API's messages.
package rm

import (
	"context"
	"fmt"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Identifiers with types of their own, so that the compiler finds mix-ups.
type (
	// TaskID names a task: a UUID.
	TaskID string
	// AllocationID names one attempt to run a task: "<task>.<n>", n from 1.
	AllocationID string
	// JobID names an entry of the queue; each command is a separate job.
	JobID string
	// ContainerID names one container of an allocation: a UUID.
	ContainerID string
	// AgentID names a machine or a node.
	AgentID string
)

// Uncategorized is the only workspace.
const Uncategorized = "Uncategorized"

// Request is an allocation that requests resources. A restarted master rebuilds it from its store.
type Request struct {
	Allocation AllocationID
	Task       TaskID
	Job        JobID
	JobType    apiv1.Job_Type
	Name       string
	// JobName and Entity are the name and the number of the job in the API; if empty, Name and Task are.
	JobName  string
	Entity   string
	Username string
	UserID   int32
	// Workspace is the name of the task's workspace.
	Workspace string

	// Pool is a resource pool's name; empty selects the default one for Slots.
	Pool string
	// Slots is the number of slots; 0 requests an auxiliary task.
	Slots int
	// Priority is 1 (first) to 99; 0 selects the pool's default.
	Priority int
	Weight   float64
	// MaxSlots limits the slots of all the job's allocations; 0 means unlimited.
	MaxSlots int
	// Preemptible allows the scheduler to preempt the allocation.
	Preemptible bool
	// PreemptionTimeout is the time between a preemption signal and the kill.
	PreemptionTimeout time.Duration
	// SingleNode restricts the allocation to one agent.
	SingleNode bool
	// ExcludedAgents are never used.
	ExcludedAgents []AgentID
	// Trusted reports that the owner was an administrator when the request was made. Trusted tasks may
	// run where tasks are not isolated.
	Trusted bool `json:",omitempty"`
	// FixedPaths reports that the program reads files at fixed paths.
	FixedPaths bool `json:",omitempty"`
	// Policy is the policy for the task on its machine; nil is an administrator's. It is not stored:
	// each request carries the policy at the time it is made.
	Policy *apiv1.TaskPolicy `json:"-"`
	// Ports are base numbers. For each of them all containers get the same port number, at or above the
	// base, that no other container on their machines uses.
	Ports []int `json:",omitempty"`
	// PodSpec is the pod spec of the task, as JSON, for resource managers that run tasks as pods; empty
	// if the task has none.
	PodSpec   []byte
	Submitted time.Time
	// NotBefore is the earliest time to place the allocation, zero for now; Delayed is the reason, for
	// people. Only agents delay allocations: on other platforms nothing ends with CauseNotHere.
	NotBefore time.Time
	Delayed   string
	// Avoid lists agents that could not start the allocation. For a minute from NotBefore it waits for
	// other agents, if there are enough of them.
	Avoid []AgentID
}

// Describe returns the task, its name and its owner, for people.
func (r Request) Describe() string {
	return fmt.Sprintf("task %s (%s) of %s", r.Task, r.Name, r.Username)
}

// ResourceManager runs allocations. Its methods may be called at any time and from any goroutine; none
// waits for an agent or a cloud.
type ResourceManager interface {
	// Validate returns an error if r can never run with the pool's current or future machines. The error
	// is an *Unfulfillable, or names an invalid field of r.
	Validate(r Request) error
	// Submit queues r. Submitting a known allocation again has no effect and returns nil: a restarted
	// master reattaches to its allocations that way.
	Submit(ctx context.Context, r Request) error
	// Kill ends an allocation, queued or running. It returns nil for an unknown or ended one.
	Kill(ctx context.Context, id AllocationID, reason string) error
	// Preempt asks a running allocation to checkpoint and stop, and kills it after its
	// PreemptionTimeout.
	Preempt(ctx context.Context, id AllocationID, reason string) error
	// Change alters a job in its queue. It returns ErrUnknownJob, or an error that names the invalid
	// part of the change.
	Change(ctx context.Context, id JobID, c Change) error
	// Allocation returns a queued or running allocation.
	Allocation(id AllocationID) (Allocation, bool)
	// Priority returns the effective priority of a queued or running allocation.
	Priority(id AllocationID) (int, bool)
	// PriorityChanges returns the number of changes made to jobs: while it is constant, so are the
	// priorities of queued and running allocations.
	PriorityChanges() uint64
	// Queue returns a part of the jobs in the order in which they are served.
	Queue(p QueuePart) []*apiv1.Job
	// Pools returns the resource pools by name, with their resources and usage.
	Pools() []*apiv1.ResourcePool
	// PoolSettings returns the configuration of the same pools, by name. It computes no usage, so that
	// it is quick for pools of any size.
	PoolSettings() []PoolSettings
}

// PoolSettings is the part of a pool's configuration that tasks depend on.
type PoolSettings struct {
	Name string
	// DefaultCompute and DefaultAux report whether the pool gets tasks with and without slots that name
	// no pool.
	DefaultCompute, DefaultAux bool
	// DefaultPriority is the priority of jobs that name none: 1, the first, to 99.
	DefaultPriority int
}

// Machines is implemented by resource managers that can list and disable the machines that they run on.
type Machines interface {
	// Agents returns the machines by id.
	Agents() []*apiv1.Agent
	// SetAgent enables a machine, or disables it with or without letting its tasks finish. It returns
	// ErrUnknownAgent if there is no such machine.
	SetAgent(ctx context.Context, id AgentID, s Switch) (*apiv1.Agent, error)
	// SetSlot changes one slot. It returns ErrUnknownAgent or ErrUnknownSlot.
	SetSlot(ctx context.Context, id AgentID, slot int, s Switch) (*apiv1.Slot, error)
}

// Remarks is implemented by resource managers that ignore some settings of tasks.
type Remarks interface {
	// Remarks returns, for each setting of r that has no effect, a sentence for the task's owner with
	// the reason.
	Remarks(r Request) []string
}

// Forecasts is implemented by resource managers that place tasks themselves.
type Forecasts interface {
	// Forecast returns what would become of r if it was submitted now. Nothing is changed.
	Forecast(ctx context.Context, r Request) (Forecast, error)
}

// Forecast is the simulated placement of a request.
type Forecast struct {
	// Pool and Priority are the effective ones.
	Pool     string
	Priority int
	// Placement is where the request would start at once; nil if it would wait.
	Placement []Share
	// Waiting is the reason why it would wait, Preempts the jobs that would be asked to stop for it.
	Waiting  string
	Preempts []*apiv1.SlotHolder
	// Launches reports that machines may be launched for it.
	Launches bool
}

// Share is the part of a placement on one machine. Slots is nil for a request without slots.
type Share struct {
	Agent AgentID
	Slots []int
}

// Claims is implemented by resource managers that create volume claims.
type Claims interface {
	// CheckClaim returns an error if a task that mounts the claim would wait forever. Its text is a
	// sentence for the task's owner.
	CheckClaim(name string) error
}

// Switch is the operator's setting of a machine or a slot.
type Switch string

// Switch values.
const (
	Enable Switch = "enable"
	// Disable ends the running tasks.
	Disable Switch = "disable"
	// Drain lets running tasks finish and starts no new ones.
	Drain Switch = "drain"
)

// Change is a change to a job; nil fields stay as they are.
type Change struct {
	Priority *int
	Weight   *float64
	// MaxSlots of 0 removes the limit.
	MaxSlots *int
	Pool     *string
	// AheadOf and BehindOf move the job next to another job of the same pool.
	AheadOf  *JobID
	BehindOf *JobID
	// MinPriority is the most urgent priority that a job may get by moving next to another one; 0 is no
	// limit.
	MinPriority int
}

// Allocation is the resource manager's view of one allocation.
type Allocation struct {
	Request Request
	// Pool and Priority are the effective ones.
	Pool     string
	Priority int
	// Waiting is the reason why it does not run yet, whether it is placed or not; empty once it runs.
	Waiting    string
	Containers []Container
	// PreemptBy is when a preempted allocation is killed; zero if it is not preempted.
	PreemptBy time.Time
}

// Container is one container of a placed allocation.
type Container struct {
	ID      ContainerID
	Agent   AgentID
	Devices []*apiv1.Device
	Rank    int
	State   apiv1.Container_State
}
