package rm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Tasks receives the events of allocations on behalf of their owner. Every call may be repeated after a
// restart and must then return the same result. A call that returns nil has been stored; only then does
// the resource manager acknowledge the event to the machine that caused it.
type Tasks interface {
	// Assigned reports the placement of an allocation before anything starts. It returns the spec of
	// each container, in the same order. An error ends the allocation with that reason.
	Assigned(ctx context.Context, a Assignment) ([]*agentv1.Spec, error)
	// Changed reports the new state of one container.
	Changed(ctx context.Context, c ContainerChange) error
	// Preempted reports that the allocation must checkpoint and stop. It returns whether its program
	// listens for that; a program that does not is sent SIGTERM.
	Preempted(ctx context.Context, id AllocationID, reason string, deadline time.Time) (listens bool, err error)
	// Waits reports why an unplaced allocation does not get its machines. It is called once for each
	// kind of reason.
	Waits(ctx context.Context, id AllocationID, w Wait) error
	// Ended reports that nothing of the allocation is left on any machine. It is the last call for the
	// allocation.
	Ended(ctx context.Context, id AllocationID, e End) error
}

// Wait is the reason why an allocation does not get its machines.
type Wait struct {
	// Kind distinguishes reasons: "quota".
	Kind string
	// Reason is for people; Next is the time of the next attempt, zero for never.
	Reason string
	At     time.Time
	Next   time.Time
}

// Logs stores the lines that containers write.
type Logs interface {
	// AppendLogs stores lines and returns the next missing sequence number. Lines that it already has
	// are skipped. The lines of an unknown allocation are dropped and acknowledged without an error.
	AppendLogs(ctx context.Context, agent AgentID, l *agentv1.Logs) (next uint64, err error)
	// NextSeq returns the sequence number of the first line of a container that is not stored.
	NextSeq(ctx context.Context, allocation AllocationID, id ContainerID) (uint64, error)
}

// Assignment is the placement of an allocation.
type Assignment struct {
	Allocation AllocationID
	Pool       string
	Containers []Container
	// Ports are the ports of the request, in its order; nil if containers do not share a network.
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
	// Host is the address at which the allocation's other containers reach this one: that of its pod or
	// of its machine. It is empty before the container runs.
	Host string
	// Machine is equal for containers on the same machine and different for all others; empty if
	// unknown.
	Machine string
	At      time.Time
}

// End is the reason why an allocation ended.
type End struct {
	Cause Cause
	// Reason is for people: "killed by admin", "agent gpu-3 was lost".
	Reason string
	// Stopped is true if a program exited after it was told to by SIGTERM, so that its exit code says nothing.
	Stopped bool
	At      time.Time
}

// Cause is the cause of an allocation's end.
type Cause string

// Cause values.
const (
	// CauseExited: all containers exited by themselves.
	CauseExited Cause = "exited"
	// CauseKilled: Kill was called.
	CauseKilled Cause = "killed"
	// CausePreempted: the scheduler or an operator reclaimed the slots.
	CausePreempted Cause = "preempted"
	// CauseAgentLost: the machine disappeared or was disabled. It does not count as a failure of the
	// task.
	CauseAgentLost Cause = "agent_lost"
	// CauseNotHere: an agent could not start it because its machine lacks something, and none of its
	// programs has exited. It does not count as a failure of the task.
	CauseNotHere Cause = "not_here"
	// CauseRefused: it can no longer run, because the pool was removed or Assigned returned an error.
	CauseRefused Cause = "refused"
)
