package agentrm

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/master/agentrm/streams"
	"github.com/det-deploy/det-deploy/master/agentrm/workqueue"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/queue/passes"
	"github.com/det-deploy/det-deploy/master/rm"
)

// state is the current state, which all parts share.
type state struct {
	cfg  Config
	work *workqueue.Queue
	// passes are the passes of the scheduler.
	passes *passes.Passes
	// streams are the streams into containers.
	streams *streams.Streams
	// began is closed by beginOnce, when running was first set.
	began     chan struct{}
	beginOnce func()

	// mu guards everything below, and the agents, allocations, containers and jobs themselves. Methods
	// that do not lock it must be called with it held, unless documented otherwise; nothing blocks while
	// it is held.
	mu          sync.Mutex
	running     bool
	agents      map[rm.AgentID]*agent
	allocations map[rm.AllocationID]*allocation
	containers  map[rm.ContainerID]*container
	// queue has the jobs of all allocations.
	queue *queue.Queue
	// waiting holds the allocations by pool, in the form that passes use.
	waiting map[string]*waitlist
	// watchers receive the input of the next pass over a pool, by its name.
	watchers map[string][]chan<- pool.Pool
	// looks counts the looks of passes at the allocations of a pool.
	looks uint64
	// switches are the switches of agents that are otherwise unknown.
	switches map[rm.AgentID]agentDoc
	// retired are the agents whose machines are to be removed, whether or not they are connected.
	retired map[rm.AgentID]bool
	// sick are the agents that cannot start containers.
	sick map[rm.AgentID]*agent
	// launched holds, by pool, the restrictions of the launched machine that joined last.
	launched map[string]restrictions
	// agentsVersion counts the calls of noteAgents; lineups and sizes are caches by pool.
	agentsVersion uint64
	lineups       map[string]*lineup
	sizes         map[string]size
}

func newState(c Config) *state {
	s := &state{
		cfg: c, work: workqueue.New(), passes: passes.New(), began: make(chan struct{}),
		agents:      make(map[rm.AgentID]*agent),
		allocations: make(map[rm.AllocationID]*allocation),
		containers:  make(map[rm.ContainerID]*container),
		waiting:     make(map[string]*waitlist),
		watchers:    make(map[string][]chan<- pool.Pool),
		switches:    make(map[rm.AgentID]agentDoc),
		retired:     make(map[rm.AgentID]bool),
		sick:        make(map[rm.AgentID]*agent),
		launched:    make(map[string]restrictions),
		lineups:     make(map[string]*lineup),
		sizes:       make(map[string]size),
	}
	s.beginOnce = sync.OnceFunc(func() { close(s.began) })
	s.queue = s.newQueue()
	s.streams = streams.New(streams.Config{Log: c.Log, Check: s.checkStreamCredential, Admitted: c.Admitted, Patience: c.Limits.Stream})
	return s
}

// hostOn returns the address at which the containers of an allocation on other agents reach one on a.
// That is the remote address of its link, unless it is loopback or another agent's address too, as
// behind a load balancer or NAT: then it is the address that the agent reports, if any. The address of
// the interface that the pool names takes precedence.
func (s *state) hostOn(a *agent, of *allocation) string {
	if address := ownAddress(a.interfaces[s.interfaceOf(of)]); address != "" {
		return address
	}
	if a.own == "" || !isLoopback(a.address) && !s.sharesAddress(a, of) {
		return a.address
	}
	return a.own
}

func (s *state) sharesAddress(a *agent, of *allocation) bool {
	for _, c := range of.containers {
		if other := s.agents[c.agent]; c.agent != a.id && other != nil && other.address == a.address {
			return true
		}
	}
	return false
}

// ownAddress returns the address that an agent reports, or "" if it does not identify one machine.
func ownAddress(said string) string {
	ip, err := netip.ParseAddr(said)
	if err != nil || ip.Zone() != "" || !ip.IsGlobalUnicast() {
		return ""
	}
	return ip.String()
}

func isLoopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Unmap().IsLoopback()
}

// newQueue returns the queue of the configured pools.
func (s *state) newQueue() *queue.Queue {
	rules := queue.Rules{
		DefaultAux: s.cfg.DefaultAux, DefaultCompute: s.cfg.DefaultCompute,
		CheckWeight: checkWeight, Fits: s.checkFits,
	}
	for _, p := range s.cfg.Pools {
		rules.Pools = append(rules.Pools, queue.Pool{Name: p.Name, DefaultPriority: p.Scheduler.DefaultPriority})
	}
	return queue.New(rules)
}

func checkWeight(w float64) error {
	if !(w > 0) {
		return fmt.Errorf("weight: must be positive (%v)", w)
	}
	return nil
}

// positionOf returns an allocation's position for the scheduler.
func positionOf(e *queue.Entry) pool.Position { return pool.Position(e.Parent.Position()) }

func (s *state) hasAgent(id rm.AgentID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agents[id] != nil
}

func (s *state) isKilled(a *allocation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.isKilled()
}

func (s *state) isOver(a *allocation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.phase == Over
}

// checkFits returns an *rm.Unfulfillable if a request could never run in a pool.
func (s *state) checkFits(name string, q rm.Request) error {
	p, _ := s.cfg.findPool(name)
	now := s.sizeOf(p.Name)
	agents, most := now.agents, now.most
	c := pool.Capacity{MaxAux: p.MaxAux, Shapes: slices.Concat(s.cfg.Room(p.Name), now.shapes)}
	machine, launches := s.cfg.Machine(p.Name)
	if launches && q.SingleNode {
		// Regardless of the pool's present machines, such a machine may be launched.
		c.Shapes = append(c.Shapes, pool.Shape{Slots: machine, Count: 1})
	}
	if pool.Fits(c, q.Slots, q.SingleNode) {
		return nil
	}
	u := &rm.Unfulfillable{Pool: p.Name, Slots: q.Slots}
	switch {
	case q.Slots == 0:
		u.Reason = "the pool runs no zero-slot tasks (max_aux_containers_per_agent is 0)"
	case agents == 0 && !launches:
		u.Empty, u.Reason = true, "the pool has no agents and cannot launch suitable machines"
	case q.SingleNode:
		u.Reason = fmt.Sprintf("the task runs on one machine, but the largest has %s", rm.CountSlots(max(most, machine)))
	default:
		u.Reason = fmt.Sprintf("the largest agent of the pool has %s, and a task must fit on its agents (%d) in equal shares", rm.CountSlots(max(most, machine)), agents)
	}
	return u
}

// addAllocation adds an allocation with the settings of its job.
func (s *state) addAllocation(q rm.Request) (*allocation, error) {
	var before queue.Position
	if j, found := s.queue.Job(q.Job); found && !j.Empty() {
		before = j.Position()
	}
	e, err := s.queue.Add(q)
	if err != nil {
		return nil, err
	}
	a := &allocation{Entry: e, phase: Queued}
	s.allocations[q.Allocation] = a
	if before != 0 && before != e.Parent.Position() {
		s.moveWaiting(e.Parent) // the job's other allocations move with it
		return a, nil
	}
	s.waitingOf(a.Pool).addAllocation(a)
	return a, nil
}

func (s *state) findContainer(id rm.ContainerID) *container {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.containers[id]
}
