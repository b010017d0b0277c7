package pods

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/logs"
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Phase is the phase of an allocation.
//
//	Queued ──is decided──▶ Making ──Job and Secret are made──▶ Gated
//	  ▲  ▲                   │     (Opening, without gates)      │ all pods exist and fit
//	  │  └─── gone ── Undoing ◀──not all exist, or not all are ──┤
//	  │                  │          taken by nodes in time       ▼
//	  │                  │ is killed                          Opening
//	  │                  ▼                                       │ all are taken by nodes
//	  └──is killed──▶  Over ◀──all containers ended─── Running ◀─┘
//
// An allocation that is to be stopped has a release in addition to its phase.
type Phase string

const (
	// Queued waits and has no object in Kubernetes.
	Queued Phase = "queued"
	// Making has been selected to run; its objects are being created.
	Making Phase = "making"
	// Gated has a Job whose pods the scheduler ignores.
	Gated Phase = "gated"
	// Opening has pods that the scheduler places.
	Opening Phase = "opening"
	// Running has all of its pods on nodes, or ending.
	Running Phase = "running"
	// Undoing has objects that must be deleted before it is queued again.
	Undoing Phase = "undoing"
	// Over has ended and its owner was notified.
	Over Phase = "over"
)

var phases = map[Phase][]Phase{
	Queued:  {Making, Running, Over},
	Making:  {Gated, Opening, Undoing},
	Gated:   {Opening, Undoing},
	Opening: {Running, Undoing},
	Running: {Over},
	Undoing: {Queued, Over},
	Over:    {},
}

// allocation is one request, waiting or running. state.mu guards it.
type allocation struct {
	*queue.Entry
	phase Phase
	// since is the start of the phase.
	since   time.Time
	waiting string
	// waitKind is the kind of the reason why it waits, and reported the last one that the owner was
	// notified of.
	waitKind, reported string
	waitSince          time.Time
	// attempt numbers its Jobs, from 1; tries counts consecutive undone attempts, and until is the
	// earliest time of the next one.
	attempt, tries int
	until          time.Time
	// trouble is the latest error of Kubernetes about its Job or pods; undone is why its last attempt was undone.
	trouble, undone string
	// callError is the API server's error about the creation or opening of its pods.
	callError string
	// scaling is the latest event of a cluster autoscaler about its pods, or nil.
	scaling *corev1.Event
	// refused is the time since which one of its pods is unschedulable.
	refused time.Time
	// stretched is true if it was opened although it does not fit, so that nodes are added for it.
	stretched bool
	// hints are nodes with room for each of its pods; ungated is true if this master has decided to
	// run it without gates.
	hints   []gang.NodeID
	ungated bool

	// podStats summarizes its pods for the decision.
	podStats *podStats

	containers []*container
	release    *records.Release
	// stopped is true if one of its programs exited after its pod was deleted.
	stopped bool
	// decided is the time of the decision to run it.
	decided time.Time
	// pod contains the requests and constraints of each of its pods.
	pod *gang.Pod

	// The fields below are only used by the worker of the allocation. recorded: the store contains
	// that it runs. stored: the release in the store. asked: the owner was notified of the
	// preemption. terminate: the program only reacts to SIGTERM. opened: the pods whose gate was
	// removed. met: the Service of its pods exists. secretsGone: its Secrets were deleted. forced:
	// the times at which pods on unresponsive nodes were force deleted. jobGone: its Job was
	// deleted after that.
	recorded         bool
	stored           *records.Release
	asked, terminate bool
	opened           map[types.UID]bool
	met              bool
	secretsGone      bool
	forced           map[types.UID]time.Time
	jobGone          bool
}

// container is the part of an allocation that runs in one pod. state.mu guards it.
type container struct {
	id   rm.ContainerID
	rank int
	node rm.AgentID
	// pod and namespace identify its pod.
	pod, namespace string

	devices []*apiv1.Device
	// state is the last state that the owner was notified of.
	state apiv1.Container_State

	// The fields below are only used by the worker of the allocation.

	// decidedExit is an exit that was decided before the pod ended.
	decidedExit *agentv1.Exit
	// stuck is the time since which it cannot start, and trouble the reason, as a message for the
	// owner.
	stuck   time.Time
	trouble string
	// deletedByOther is true if another client deleted the pod.
	deletedByOther bool
	// lines forwards the log to the owner.
	lines *logs.Follower
	// ending is the time by which Kubernetes was asked to stop the pod, or zero.
	ending time.Time
}

// stageOf converts a phase to a stage of the queue.
func stageOf(p Phase) queue.Stage {
	switch p {
	case Queued:
		return queue.Waiting
	case Running:
		return queue.Running
	case Making, Gated, Opening, Undoing, Over:
	}
	return queue.Starting
}

// moveTo changes the phase. It returns an error for a transition that is not in the table.
func (a *allocation) moveTo(to Phase, now time.Time) error {
	if !slices.Contains(phases[a.phase], to) {
		return fmt.Errorf("cannot move allocation %s from %s to %s: no such transition", a.Allocation, a.phase, to)
	}
	a.phase, a.since = to, now
	a.Stage = stageOf(to)
	return nil
}

func (a *allocation) wasKilled() bool { return a.release != nil && a.release.Kill }

// allEnded reports whether the owner was notified of the exit of every container.
func (a *allocation) allEnded() bool {
	return !slices.ContainsFunc(a.containers, func(c *container) bool { return !c.hasEnded() })
}

func (c *container) hasEnded() bool { return c.state == apiv1.Container_STATE_TERMINATED }

// isWaiting reports whether the allocation is not completely placed yet.
func (a *allocation) isWaiting() bool {
	return a.phase != Running && a.phase != Over
}

// describeAllocation returns the allocation for its owner.
func (a *allocation) describeAllocation() rm.Allocation {
	out := rm.Allocation{Request: a.Request, Pool: a.Pool, Priority: a.Priority}
	out.Waiting = a.waiting
	if a.isWaiting() && a.waiting == "" {
		out.Waiting = "waiting for the scheduler"
	}
	if a.release != nil && !a.release.Kill {
		out.PreemptBy = a.release.By
	}
	for _, c := range a.containers {
		out.Containers = append(out.Containers, c.describeContainer())
	}
	return out
}

func (c *container) describeContainer() rm.Container {
	return rm.Container{ID: c.id, Agent: c.node, Devices: slices.Clone(c.devices), Rank: c.rank, State: c.state}
}

// asAPI returns the container as an API message.
func (c *container) asAPI(parent rm.AllocationID) *apiv1.Container {
	return &apiv1.Container{Parent: string(parent), Id: string(c.id), State: c.state, Devices: slices.Clone(c.devices)}
}

// addContainers creates the containers of an allocation, with a number of slots each.
func (a *allocation) addContainers(pods, slots int, kind podspec.SlotType) {
	a.containers = nil
	for rank := range pods {
		c := &container{id: podspec.ContainerID(a.Allocation, rank), rank: rank, state: apiv1.Container_STATE_ASSIGNED}
		for i := range slots {
			c.devices = append(c.devices, &apiv1.Device{
				Id: int32(i), Type: nodes.DeviceType(kind), Brand: string(kind), //nolint:gosec // slots of one pod
			})
		}
		a.containers = append(a.containers, c)
	}
}

// noteRefusal records since when a pod is unschedulable. The pod's own condition does not show
// that, because it was not scheduled while it had a gate either.
func (a *allocation) noteRefusal(refused bool, now time.Time) {
	switch {
	case !refused:
		a.refused = time.Time{}
	case a.refused.IsZero():
		a.refused = now
	}
}

// setPod records the pod of a container.
func (c *container) setPod(pod *corev1.Pod) {
	if pod != nil {
		c.node, c.pod, c.namespace = rm.AgentID(pod.Spec.NodeName), pod.Name, pod.Namespace
	}
}

// runsOn reports whether a container of the allocation is running on a node.
func (a *allocation) runsOn(id rm.AgentID) bool {
	for _, c := range a.containers {
		if c.node == id && !c.hasEnded() {
			return true
		}
	}
	return false
}

// jobName returns the name of the Job of the current attempt.
func (a *allocation) jobName() string { return podspec.JobName(a.Allocation, a.attempt) }
