package pods

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/master/rm"
)

// sight is what a decision knows of the pods of an allocation's attempt. It holds until one of
// them changes.
type sight struct {
	attempt int
	// made and placed are how many exist, and have a node.
	made, placed int
	held         []gang.Held
	firstBound   time.Time
	lacks        []corev1.ResourceName
}

// sightOf adds up an attempt's pods.
func sightOf(attempt int, pods map[int]*corev1.Pod) *sight {
	s := &sight{attempt: attempt, made: len(pods)}
	held := make(map[gang.NodeID]int)
	var said []string
	for _, pod := range pods {
		said = append(said, observe.Unschedulable(pod))
		if pod.Spec.NodeName != "" {
			s.placed++
		}
		if pod.Spec.NodeName == "" || observe.Finished(pod) {
			continue
		}
		held[gang.NodeID(pod.Spec.NodeName)]++
		if at := observe.BoundAt(pod); s.firstBound.IsZero() || at.Before(s.firstBound) {
			s.firstBound = at
		}
	}
	s.lacks = gang.Lacking(said...)
	for _, node := range slices.Sorted(maps.Keys(held)) {
		s.held = append(s.held, gang.Held{Node: node, Pods: held[node]})
	}
	return s
}

// changedPods are the allocations whose pods have changed since they were taken.
type changedPods struct {
	mu  sync.Mutex // guards ids
	ids map[rm.AllocationID]bool
}

func (c *changedPods) note(id rm.AllocationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = make(map[rm.AllocationID]bool)
	}
	c.ids[id] = true
}

func (c *changedPods) take() map[rm.AllocationID]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.ids
	c.ids = nil
	return out
}

// pace is how many pods the scheduler of the cluster has placed lately.
type pace struct{ placed []placing }

type placing struct {
	at   time.Time
	pods int
}

// paceSpan is how long a pace is measured.
const paceSpan = 5 * time.Second

func (p *pace) note(pods int, now time.Time) {
	if pods > 0 {
		p.placed = append(p.placed, placing{now, pods})
	}
	old := slices.IndexFunc(p.placed, func(one placing) bool { return now.Sub(one.at) < paceSpan })
	if old < 0 {
		old = len(p.placed)
	}
	p.placed = slices.Delete(p.placed, 0, old)
}

// perSecond is the rate, of which little is known before a whole span: it is never said to be more.
func (p *pace) perSecond() float64 {
	sum := 0
	for _, one := range p.placed {
		sum += one.pods
	}
	return float64(sum) / paceSpan.Seconds()
}
