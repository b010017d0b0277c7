// Package gang decides which waiting tasks get their pods on a Kubernetes cluster, which gangs of
// pods are released to the scheduler, which are preempted, and why the others wait. It makes no
// calls and is deterministic: the same nodes, gangs and time always yield the same decision, so
// that every rule is tested in a table without a cluster.
//
// Kubernetes schedules pods individually. A gang that gets half of its pods holds resources that
// another gang needs for its other half. Therefore the pods of a gang are created with a scheduling
// gate, which is removed from all of them at once, and only when all of them fit. If only a race
// with other pods could cause a partial gang, a gang that fits is created without gates
// (Options.Ungated).
package gang

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Distinct types for identifiers.
type (
	// ID identifies a gang: the ID of its allocation.
	ID string
	// JobID identifies the job whose slot limit a gang shares.
	JobID string
	// NodeID is a node's name.
	NodeID string
)

// The highest priority and the default one. On Kubernetes a higher number is more important, as in
// Determined 0.38.1; for agents a lower one is.
const (
	HighestPriority = 99
	DefaultPriority = 50
)

// Node is a node of the cluster.
type Node struct {
	ID          NodeID
	Labels      map[string]string
	Taints      []Taint
	Allocatable Resources
	// Used is the sum of the requests of all pods bound to the node that have not ended. Own is the
	// part of det-deploy's pods.
	Used, Own Resources
	// Ready is the node's condition; Unschedulable means cordoned.
	Ready         bool
	Unschedulable bool
	// Disabled is set in this cluster's own settings: no new pods are placed on the node, whether
	// or not running ones may finish.
	Disabled bool

	// place is set on a placeholder of unknown nodes.
	place string
}

// State is the state of a gang.
//
//	Queued ──Create──▶ Gated ──Open──▶ Binding ──all bound──▶ Running
//	   ▲                 │                │                      │
//	   └────── Undo ─────┴───── Undo ─────┘            is asked to stop
//	                                                             ▼
//	                                                         Releasing
type State string

const (
	// Queued has no object in Kubernetes.
	Queued State = "queued"
	// Gated has a Job; its existing pods have gates.
	Gated State = "gated"
	// Binding has no gates; some of its pods have no node.
	Binding State = "binding"
	// Running has a node for each of its pods.
	Running State = "running"
	// Releasing was asked to stop and still holds its resources.
	Releasing State = "releasing"
)

// Gang is one allocation: a number of identical pods that start together.
type Gang struct {
	ID  ID
	Job JobID
	// Pods is the number of pods; Pod is the request of each.
	Pods int
	Pod  *Pod
	// Slots counts against MaxSlots, the limit for all gangs of the job; 0 means no limit.
	Slots    int
	MaxSlots int
	// Priority is 1 to 99, 99 first. Position orders gangs of one priority, smaller first; then
	// Submitted, earlier first.
	Priority  int
	Position  int64
	Submitted time.Time
	// Preemptible gangs may be stopped for more important ones.
	Preemptible bool
	// Autoscaled gangs that do not fit are opened anyway, a few at a time, because nodes are only
	// added for unschedulable pods.
	Autoscaled bool
	// Exclude lists nodes that must not be used.
	Exclude []NodeID
	// Yields is the gang for which an earlier run of this one was preempted, and YieldsUntil the time
	// until which this one leaves it the room that was made.
	Yields      ID
	YieldsUntil time.Time

	State State
	// Since is the time at which the gang entered its state.
	Since time.Time
	// Made is the number of existing pods.
	Made int
	// Held lists the nodes of its bound pods, which are included in the nodes' Used.
	Held []Held
	// Progress is the time at which the scheduler last placed or rejected one of its pods that it had
	// not placed or rejected before, or zero.
	Progress time.Time
	// Deadline is the time at which a releasing gang is killed; zero means never.
	Deadline time.Time
	// Stretched means that the gang was opened although it did not fit, so that nodes are added for
	// it.
	Stretched bool
	// Ungated means that the gang was created without gates because it fit.
	Ungated bool
	// Undone is the number of undone attempts since the gang last ran. NotBefore is the earliest
	// time of the next attempt.
	Undone    int
	NotBefore time.Time
	// Trouble is the latest error of Kubernetes about its Job or its pods: an exceeded quota, or
	// why the scheduler finds no node. For a queued gang it is why its last attempt was undone.
	Trouble string
	// Unseen is the number of its pods without a gate that no scheduler has looked at.
	Unseen int
	// Autoscaler is the latest event of a cluster autoscaler about one of its pods, or "".
	Autoscaler string
	// Refused is the time since which one of its pods is unschedulable, or zero. Lacks contains the
	// insufficient resources.
	Refused time.Time
	Lacks   []corev1.ResourceName
}

// Held is the number of a gang's pods that are bound to one node.
type Held struct {
	Node NodeID
	Pods int
}

// Options contains the administrator's settings and the visibility of the cluster.
type Options struct {
	// Preemption permits a waiting gang to stop less important ones.
	Preemption bool
	// NodesKnown is false if nodes cannot be listed. Then every gang is opened in its turn until
	// the scheduler rejects one, and Limit prevents a partial gang from holding the resources of
	// others.
	NodesKnown bool
	// OthersKnown is false if the pods of other namespaces cannot be listed, so that a node may
	// have less room than it seems. Then rejections of the scheduler are recorded as lessons.
	OthersKnown bool
	// Ungated permits creating gangs that fit without gates, if nothing can make them partial:
	// nodes and all their pods are known, and no quota counts the pods of the namespace. It is
	// false until this has been verified.
	Ungated bool
	// Settle is the duration after which a rejection becomes a lesson. Believe is the initial
	// validity of a lesson; it doubles each time, up to MaxBackOff.
	Settle, Believe time.Duration
	// Limit is how long a gang may hold nodes for some of its pods, or be rejected, after the
	// scheduler has last made progress with it. ScaleLimit applies instead to a gang for which nodes
	// are added, or of which Kubernetes has not processed all pods yet.
	Limit      time.Duration
	ScaleLimit time.Duration
	// Window is the maximum number of unplaced pods in the scheduler, unless one gang has more;
	// pods not placed within Limit do not count. It is WindowAt of the observed rate of the
	// scheduler. Zero means no limit. If all gangs are opened at once, the scheduler places their
	// pods alternately, and each gang is partial for as long as all of them take.
	Window int
	// BackOff is the first pause after an undone attempt. It doubles each time, up to MaxBackOff.
	BackOff    time.Duration
	MaxBackOff time.Duration
}

// DefaultOptions returns the default options of a cluster.
func DefaultOptions() Options {
	return Options{
		NodesKnown: true, OthersKnown: true,
		// The scheduler retries a pod up to ten seconds after a change, and the first times after
		// one second.
		Settle: 5 * time.Second, Believe: time.Minute,
		// The scheduler binds a pod that fits within a second. 30 seconds allow for admission
		// webhooks and the provisioning of volumes.
		Limit: 30 * time.Second,
		// Clouds create a machine with GPUs within some minutes or never.
		ScaleLimit: 15 * time.Minute,
		// By default kube-scheduler places about 50 pods per second (--kube-api-qps): four seconds
		// of work.
		Window:  leastWindow,
		BackOff: 2 * time.Second, MaxBackOff: 5 * time.Minute,
	}
}

const (
	leastWindow = 200
	mostWindow  = 5000
)

// WindowAt returns Options.Window for a scheduler that places podsPerSecond: four seconds of its
// work.
func WindowAt(podsPerSecond float64) int {
	return max(leastWindow, min(int(4*podsPerSecond), mostWindow))
}

// Cluster is the input of a decision.
type Cluster struct {
	Options Options
	Nodes   []Node
	Gangs   []Gang
	// Lessons are the lessons of the previous decision.
	Lessons []Lesson
}
