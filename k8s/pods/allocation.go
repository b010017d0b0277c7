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

// Phase is how far an allocation has come.
//
//	Queued ──is decided──▶ Making ──Job and Secret are made──▶ Gated
//	  ▲  ▲                   │     (Opening, without gates)      │ all pods exist and fit
//	  │  └─── gone ── Undoing ◀──not all exist, or not all are ──┤
//	  │                  │          taken by nodes in time       ▼
//	  │                  │ is killed                          Opening
//	  │                  ▼                                       │ all are taken by nodes
//	  └──is killed──▶  Over ◀──nothing is left of it── Running ◀─┘
//
// An allocation that has to go carries a release beside its phase.
type Phase string

const (
	// Queued waits; nothing of it is in Kubernetes.
	Queued Phase = "queued"
	// Making is between the decision and the objects.
	Making Phase = "making"
	// Gated has a Job whose pods the scheduler does not look at.
	Gated Phase = "gated"
	// Opening has pods that the scheduler places.
	Opening Phase = "opening"
	// Running has all of its pods on nodes, or on their way out.
	Running Phase = "running"
	// Undoing has objects that must be gone before it is queued again.
	Undoing Phase = "undoing"
	// Over has ended; its owner was told.
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

// allocation is one request, waiting or served. state.mu guards it.
type allocation struct {
	*queue.Entry
	phase Phase
	// since is when the phase began.
	since   time.Time
	waiting string
	// kind and told are the matter that keeps it waiting, and the one that its
	// owner was last told of.
	waitKind, reported string
	waitSince          time.Time
	// attempt numbers the Jobs made for it, from 1; tries counts those undone in a
	// row, and until is when it may be tried again.
	attempt, tries int
	until          time.Time
	// trouble is what Kubernetes last said of its Job or pods.
	trouble string
	// refused is since when the scheduler finds no node for one of its pods.
	refused time.Time
	// stretched says that it was let go although it does not fit, so that nodes are
	// added for it.
	stretched bool
	// hints are nodes with room for each of its pods; ungated says that this master has
	// decided to run it without gates.
	hints   []gang.NodeID
	ungated bool

	// podStats is what was last seen of its pods, for the decision.
	podStats *podStats

	containers []*container
	release    *records.Release
	// decided is when it was decided to run it.
	decided time.Time
	// pod is what each of its pods asks of a node.
	pod *gang.Pod

	// What follows belongs to the worker that looks at it: noted says that it is stored
	// that it runs, stored is the release that a restarted master would know, asked
	// says that the owner knows of it, and terminate that the program listens for no
	// signal but SIGTERM. opened are the pods whose gate was taken away, and met says that
	// there is a Service for them. orderless says that its Secrets were deleted, and forced when
	// the API server was last told to forget a pod whose node does not answer, and
	// jobless that its Job was deleted for that.
	recorded         bool
	stored           *records.Release
	asked, terminate bool
	opened           map[types.UID]bool
	met              bool
	secretsGone      bool
	forced           map[types.UID]time.Time
	jobGone          bool
}

// container is one pod's part of an allocation. state.mu guards it.
type container struct {
	id   rm.ContainerID
	rank int
	node rm.AgentID
	// pod is its pod's name, and namespace where that is.
	pod, namespace string

	devices []*apiv1.Device
	// state is the last one that its owner was told of.
	state apiv1.Container_State

	// What follows belongs to the worker that looks at the allocation.

	// decidedExit is an end that was decided before its pod has ended.
	decidedExit *agentv1.Exit
	// stuck is when it was first seen to be kept from starting, and trouble by what,
	// in words for the owner.
	stuck   time.Time
	trouble string
	// deletedByOther says that another client deleted its pod.
	deletedByOther bool
	// lines is its log on the way to the owner.
	lines *logs.Follower
	// ending is the latest moment at which its pod must be gone, as the cluster
	// was told; zero if it was not told to end.
	ending time.Time
}

// stageOf is what a phase is to the queue.
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

// moveTo changes the phase. It refuses transitions that the table lacks.
func (a *allocation) moveTo(to Phase, now time.Time) error {
	if !slices.Contains(phases[a.phase], to) {
		return fmt.Errorf("move allocation %s from %s to %s: there is no such step", a.Allocation, a.phase, to)
	}
	a.phase, a.since = to, now
	a.Stage = stageOf(to)
	return nil
}

func (a *allocation) wasKilled() bool { return a.release != nil && a.release.Kill }

// allEnded reports whether the owner was told of every container's end.
func (a *allocation) allEnded() bool {
	return !slices.ContainsFunc(a.containers, func(c *container) bool { return !c.hasEnded() })
}

func (c *container) hasEnded() bool { return c.state == apiv1.Container_STATE_TERMINATED }

// isWaiting reports whether the allocation is not all on nodes yet.
func (a *allocation) isWaiting() bool {
	return a.phase != Running && a.phase != Over
}

// describeAllocation is the allocation as its owner sees it.
func (a *allocation) describeAllocation() rm.Allocation {
	out := rm.Allocation{Request: a.Request, Pool: a.Pool, Priority: a.Priority}
	out.Waiting = a.waiting
	if a.isWaiting() && a.waiting == "" {
		out.Waiting = "not looked at yet"
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

// asAPI is the container as clients see it.
func (c *container) asAPI(parent rm.AllocationID) *apiv1.Container {
	return &apiv1.Container{Parent: string(parent), Id: string(c.id), State: c.state, Devices: slices.Clone(c.devices)}
}

// addContainers gives an allocation its containers, of so many slots each.
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

// noteRefusal notes since when the scheduler refuses a pod. The pod's own condition does
// not say it: it has been unscheduled since it had its gate.
func (a *allocation) noteRefusal(refused bool, now time.Time) {
	switch {
	case !refused:
		a.refused = time.Time{}
	case a.refused.IsZero():
		a.refused = now
	}
}

// setPod notes where a container's pod is.
func (c *container) setPod(pod *corev1.Pod) {
	if pod != nil {
		c.node, c.pod, c.namespace = rm.AgentID(pod.Spec.NodeName), pod.Name, pod.Namespace
	}
}

// runsOn reports whether a part of the allocation that has not ended is on a node.
func (a *allocation) runsOn(id rm.AgentID) bool {
	for _, c := range a.containers {
		if c.node == id && !c.hasEnded() {
			return true
		}
	}
	return false
}

// jobName is the name of the Job of the current attempt.
func (a *allocation) jobName() string { return podspec.JobName(a.Allocation, a.attempt) }
