// Package gang decides which waiting tasks get their pods on a Kubernetes
// cluster, which gangs of pods are let go to the scheduler together, which
// have to make room, and why the others wait. It is pure: the same nodes,
// gangs and clock always give the same answer, so every rule has a row in a
// table test and none needs a cluster.
//
// Kubernetes places pods one by one. A gang that gets half of its pods holds
// what another half would need, so the pods of a gang are made behind a
// scheduling gate, which is taken away from all of them at once, and only when
// all of them fit. Where nothing but a race with pods of others could leave a part,
// a gang that fits is made without gates (Options.Ungated).
package gang

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The identities that must not be mixed up.
type (
	// ID names a gang: an allocation.
	ID string
	// JobID names the job whose limit of slots a gang shares.
	JobID string
	// NodeID is a node's name.
	NodeID string
)

// The highest priority and the one of a job that names none. On Kubernetes
// the higher number is the more important, as in Determined 0.38.1; among
// agents it is the other way round.
const (
	HighestPriority = 99
	DefaultPriority = 50
)

// Node is one machine of the cluster.
type Node struct {
	ID          NodeID
	Labels      map[string]string
	Taints      []Taint
	Allocatable Resources
	// Used is what the pods that are bound to the node ask for, ours and
	// others', those that have ended not counted. Own is our own part of it.
	Used, Own Resources
	// Ready is the node's condition; Unschedulable is its cordon.
	Ready         bool
	Unschedulable bool
	// Disabled is this cluster's own switch: nothing new is placed there,
	// whether what runs may finish or not.
	Disabled bool

	// place is set on what stands in for nodes that are not known.
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
	// Gated has a Job whose pods wait behind their gates, as far as they exist.
	Gated State = "gated"
	// Binding has no gates any more; not all of its pods have a node.
	Binding State = "binding"
	// Running has a node for each of its pods.
	Running State = "running"
	// Releasing was asked to stop and still holds what it holds.
	Releasing State = "releasing"
)

// Gang is one allocation: a number of equal pods that start together.
type Gang struct {
	ID  ID
	Job JobID
	// Pods is how many; Pod is what each of them asks for.
	Pods int
	Pod  *Pod
	// Slots is what all of them count against MaxSlots, the limit for all
	// gangs of the job; 0 is no limit.
	Slots    int
	MaxSlots int
	// Priority is 1 to 99, 99 first. Position orders gangs of one priority,
	// the smaller ahead; then the earlier Submitted.
	Priority  int
	Position  int64
	Submitted time.Time
	// Preemptible gangs may be asked to stop for more important ones.
	Preemptible bool
	// Autoscaled gangs that fit nowhere are let go all the same, a few at a time,
	// because nodes are added only for pods that the scheduler has seen.
	Autoscaled bool
	// Exclude lists nodes that must not be used.
	Exclude []NodeID

	State State
	// Since is when the gang got into its state.
	Since time.Time
	// Made is how many of its pods exist.
	Made int
	// Held is where its bound pods are; those are in the nodes' Used.
	Held []Held
	// FirstBound is when the first pod got a node, zero before.
	FirstBound time.Time
	// Deadline is when a releasing gang is killed; zero means never.
	Deadline time.Time
	// Stretched says that it was let go although it did not fit, so that nodes
	// are added for it.
	Stretched bool
	// Ungated says that it was made without gates, on room that it had then.
	Ungated bool
	// Undone is how often the gang was undone since it last ran, and NotBefore
	// when it may be tried again.
	Undone    int
	NotBefore time.Time
	// Trouble is what Kubernetes last said about its Job or its pods: a quota
	// that refuses them, why the scheduler finds no node.
	Trouble string
	// Refused is since when the scheduler has found no node for one of its pods, zero
	// if it has not, and Lacks names the resources of which it found too little.
	Refused time.Time
	Lacks   []corev1.ResourceName
}

// Held is how many pods of a gang are bound to one node.
type Held struct {
	Node NodeID
	Pods int
}

// Options are what the administrator chose, and what can be known.
type Options struct {
	// Preemption lets a gang that waits push out less important ones.
	Preemption bool
	// NodesKnown is false when nodes must not be listed. Then every gang is let
	// go in its turn, until the scheduler has refused one, and Limit keeps half a gang
	// from holding what others need.
	NodesKnown bool
	// OthersKnown is false when the pods of other namespaces must not be listed, so that
	// a node may have less left than it seems. Then what the scheduler refuses is learned
	// from.
	OthersKnown bool
	// Ungated lets gangs that fit be made without gates where nothing can make a part of
	// them only: nodes and all pods on them are known, and nothing counts the pods of the
	// namespace. It is false while any of that is not known to be so.
	Ungated bool
	// Settle is how long a refusal must last to be learned from, and Believe how long a
	// lesson is believed at first. That doubles with each time, up to MaxBackOff.
	Settle, Believe time.Duration
	// Limit is how long a gang may hold nodes for a part of its pods, or be
	// refused what it lacks. ScaleLimit is the same for one that nodes are added
	// for, or that Kubernetes has not come to yet.
	Limit      time.Duration
	ScaleLimit time.Duration
	// Window is how many pods may be with the scheduler that it has not placed, unless
	// one gang has more; those that it could not place within Limit do not count. It is
	// WindowAt of the rate at which the scheduler was seen to place pods.
	// Zero is no limit. Gangs that are let go all at once get their pods placed in
	// turns, and each then holds a part for as long as all of them take.
	Window int
	// BackOff is the first pause after an undone try. It doubles with each, up
	// to MaxBackOff.
	BackOff    time.Duration
	MaxBackOff time.Duration
}

// DefaultOptions is what a cluster does before its configuration says anything.
func DefaultOptions() Options {
	return Options{
		NodesKnown: true, OthersKnown: true,
		// The scheduler tries a pod again up to ten seconds after something has changed,
		// and a second after it the first times.
		Settle: 5 * time.Second, Believe: time.Minute,
		// The scheduler binds a pod within a second when it fits. Thirty are
		// for admission webhooks and volumes that are made on the way.
		Limit: 30 * time.Second,
		// Clouds give a machine with GPUs within some minutes or not at all.
		ScaleLimit: 15 * time.Minute,
		// kube-scheduler places some 50 pods a second unless told otherwise
		// (--kube-api-qps): four seconds of work.
		Window:  leastWindow,
		BackOff: 2 * time.Second, MaxBackOff: 5 * time.Minute,
	}
}

const (
	leastWindow = 200
	mostWindow  = 5000
)

// WindowAt is Options.Window for a scheduler that places so many pods a second: four seconds
// of its work.
func WindowAt(podsPerSecond float64) int {
	return max(leastWindow, min(int(4*podsPerSecond), mostWindow))
}

// Cluster is everything a decision looks at.
type Cluster struct {
	Options Options
	Nodes   []Node
	Gangs   []Gang
	// Lessons are those of the last decision.
	Lessons []Lesson
}
