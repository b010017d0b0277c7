package rm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Tasks is what a resource manager tells the owner of the allocations. Every
// call may be repeated after a restart and must then answer the same; a call
// that returns nil has been stored, and only then is the machine that caused
// it told so.
type Tasks interface {
	// Assigned says where an allocation was placed, before anything starts.
	// The answer is what to run, for every container in the same order. An
	// error ends the allocation with that reason.
	Assigned(ctx context.Context, a Assignment) ([]*agentv1.Spec, error)
	// Changed tells of one container's new state.
	Changed(ctx context.Context, c ContainerChange) error
	// Preempted says that the allocation must save itself and stop. It answers
	// whether its program listens for that; one that does not is sent SIGTERM.
	Preempted(ctx context.Context, id AllocationID, reason string, deadline time.Time) (listens bool, err error)
	// Waits says why an allocation that is not placed yet does not get the
	// machines that it needs. It is told once for each kind of matter.
	Waits(ctx context.Context, id AllocationID, w Wait) error
	// Ended says that nothing of the allocation is left anywhere: it will
	// not be spoken of again.
	Ended(ctx context.Context, id AllocationID, e End) error
}

// Wait is what keeps a waiting allocation from its machines.
type Wait struct {
	// Kind tells matters apart: "quota".
	Kind string
	// Reason is for people; Next is when it is tried again, zero if never.
	Reason string
	At     time.Time
	Next   time.Time
}

// Logs is where the lines that containers write go.
type Logs interface {
	// AppendLogs stores lines and returns the next sequence it does not
	// have. Lines it already has are passed over. An allocation that is
	// unknown is not an error: its lines are dropped, and acknowledged.
	AppendLogs(ctx context.Context, agent AgentID, l *agentv1.Logs) (next uint64, err error)
	// NextSeq is the first line of a container that is not stored.
	NextSeq(ctx context.Context, allocation AllocationID, id ContainerID) (uint64, error)
}

// Assignment is an allocation's place.
type Assignment struct {
	Allocation AllocationID
	Pool       string
	Containers []Container
	// Ports are those of the request, in its order; nil where each container has a network
	// of its own.
	Ports []int
	At    time.Time
}

// ContainerChange is a container's new state.
type ContainerChange struct {
	Allocation AllocationID
	Container  ContainerID
	Agent      AgentID
	Rank       int
	State      apiv1.Container_State
	// Exit is set when State is TERMINATED.
	Exit      *agentv1.Exit
	Addresses []*apiv1.Address
	// Host is where the allocation's other containers find it: the address of its pod,
	// or of its machine. It is empty before the container runs.
	Host string
	// Machine is the same for containers on one machine and for no others; empty where that
	// is not known.
	Machine string
	At      time.Time
}

// End is why nothing of an allocation is left.
type End struct {
	Cause Cause
	// Reason is for people: "killed by admin", "agent gpu-3 was lost".
	Reason string
	At     time.Time
}

// Cause says who ended an allocation.
type Cause string

// The causes.
const (
	// CauseExited: all containers ended by themselves.
	CauseExited Cause = "exited"
	// CauseKilled: Kill was called.
	CauseKilled Cause = "killed"
	// CausePreempted: the scheduler or an operator wanted the slots back.
	CausePreempted Cause = "preempted"
	// CauseAgentLost: the machine vanished or was switched off. It does not
	// count as the task's own failure.
	CauseAgentLost Cause = "agent_lost"
	// CauseNotHere: an agent could not start it for what its machine lacks, and none
	// of its programs has ended. It does not count as the task's own failure.
	CauseNotHere Cause = "not_here"
	// CauseRefused: it can no longer be run, because the pool went away or
	// Assigned returned an error.
	CauseRefused Cause = "refused"
)
