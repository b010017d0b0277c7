// Package elastic decides the size of a resource pool: when and from which offer a machine is launched
// because tasks wait, and when one is removed because nothing needs it. It is pure: the same fleet and
// clock always give the same answer, so every rule has a row in a table test and none needs a cloud.
//
//	observations ──▶ Observe, See, Granted, Refuse ──▶ Fleet ──▶ Decide ──▶ actions
//
// The caller (master/launcher) keeps the Fleet, reports its observations to it, and carries out the
// decisions.
package elastic

import (
	"maps"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Limits are the settings of a pool's provider.
type Limits struct {
	// Min machines are kept even without demand; there are never more than Max.
	Min, Max int
	// MaxIdle is the time that a machine may be idle, MaxStarting the time until its agent must have
	// joined.
	MaxIdle     time.Duration
	MaxStarting time.Duration
	// ErrorTimeout is the time that a launch error is remembered; with 0 no task fails for one.
	// ErrorRetries is the number of tolerated consecutive errors.
	ErrorTimeout time.Duration
	ErrorRetries int
}

const (
	// MaxLost is the time that a machine without its agent is kept. The value is that of Determined
	// 0.38.1.
	MaxLost = 10 * time.Minute
	// ListLag is the maximum staleness of a platform's list: twice the delay usually observed on EC2,
	// and longer than the minute that cloud.Instances documents.
	ListLag = 90 * time.Second
	// Memory is the time that a terminated machine is remembered, so that a stale list does not
	// re-create its record. EC2 lists terminated instances for an hour.
	Memory = 2 * time.Hour
	// TokenLife is the time within which a launch may be repeated under its token. EC2 guarantees
	// idempotency for a day; a quarter of it leaves room for clock differences.
	TokenLife = 6 * time.Hour
	// openLaunches is the number of launch calls that may be unanswered at a time.
	openLaunches = 8
)

// Shape is the capacity of a new machine of the pool.
type Shape struct {
	// Slots is the number of devices, Aux the number of zero-slot tasks that it may run.
	Slots int
	Aux   int
}

// Fleet is the input of a decision.
type Fleet struct {
	Limits Limits
	// Offers are tried in this order, except that scarce ones come later.
	Offers []cloud.Offer
	Shape  Shape
	// Machines are the machines that are not gone.
	Machines map[cloud.InstanceID]*Machine
	// Launches are the unanswered calls. Their machines count as present.
	Launches map[string]*Launch
	// Gone holds the end times of machines that are gone.
	Gone map[cloud.InstanceID]time.Time

	// Agents are all agents of the pool, launched or not; Waiting are its waiting gangs in the order in
	// which they are served.
	Agents  []Agent
	Waiting []Gang

	Refusals Refusals
	// Scarce holds, for offers that have granted no machine since, the time of the last capacity error.
	Scarce map[cloud.Offer]time.Time

	// byID indexes Agents by id. order caches the sorted ids of the machines and is checked before use.
	byID  map[cloud.InstanceID]*Agent
	order []cloud.InstanceID
}

// New returns a fleet without machines.
func New(limits Limits, offers []cloud.Offer, shape Shape) *Fleet {
	return &Fleet{
		Limits: limits, Offers: offers, Shape: shape,
		Machines: make(map[cloud.InstanceID]*Machine), Launches: make(map[string]*Launch),
		Gone: make(map[cloud.InstanceID]time.Time),
	}
}

// Launch is a call for machines whose answer is unknown.
type Launch struct {
	Token string      `json:"token"`
	Offer cloud.Offer `json:"offer"`
	Count int         `json:"count"`
	At    time.Time   `json:"at"`
	// Until is set if the call is not repeated although it may have succeeded. By then the platform
	// lists the machines that it launched.
	Until time.Time `json:"until,omitzero"`
}

// Repeatable reports whether repeating the call cannot launch more machines.
func (l *Launch) Repeatable(now time.Time) bool { return l.Until.IsZero() && now.Sub(l.At) < TokenLife }

// Settle stops a launch from being repeated because the platform knows its token from a different call,
// which a master with another configuration made. Its machines count until a list shows them.
func (f *Fleet) Settle(token string, now time.Time) {
	if l := f.Launches[token]; l != nil && l.Until.IsZero() {
		l.Until = now.Add(ListLag)
	}
}

// Agent is one agent of the pool as its scheduler sees it.
type Agent struct {
	// ID is also the machine's id if the master launched it.
	ID cloud.InstanceID
	// Slots is the number of slots, Free the number that a waiting task can get now or when preempted
	// tasks have stopped; Aux is the number of free places for zero-slot tasks.
	Slots, Free, Aux int
	// Busy reports whether an allocation runs there.
	Busy bool
	// Lost reports that the connection is lost and that the master waits for the agent to return.
	Lost bool
}

// Gang is one allocation that waits for slots.
type Gang struct {
	ID string
	// Slots is the number of slots needed together; 0 is one place for a zero-slot task.
	Slots int
	// Single gangs are never split over machines.
	Single bool
	// Exclude lists agents that the gang must not use.
	Exclude []cloud.InstanceID
	// Promised reports that slots are being released for the gang.
	Promised bool
	// Job is the gang's job, and JobRoom the number of further slots that the job may hold; negative
	// means unlimited.
	Job     string
	JobRoom int
}

// countPresent returns the number of machines that cost money or were requested: all except those whose
// termination the platform has accepted.
func (f *Fleet) countPresent() int {
	n := f.countLaunching()
	for _, m := range f.Machines {
		if m.State != Terminating || m.Accepted.IsZero() {
			n++
		}
	}
	return n
}

// countLaunching returns the number of requested machines whose ids are still unknown.
func (f *Fleet) countLaunching() int {
	if len(f.Launches) == 0 {
		return 0
	}
	named := make(map[string]int)
	for _, m := range f.Machines {
		named[m.Token]++
	}
	n := 0
	for token, l := range f.Launches {
		n += max(l.Count-named[token], 0)
	}
	return n
}

// isUseless reports whether nothing could run on an idle machine. If a gang is waiting at the maximum,
// it also reports a machine that offers fewer slots than a new one would.
func (f *Fleet) isUseless(m *Machine, stands bool) bool {
	a := f.byID[m.ID]
	if f.Shape.Slots == 0 {
		return a.Aux == 0 && f.Shape.Aux > 0
	}
	return a.Free == 0 || stands && a.Free < f.Shape.Slots
}

// setAgents replaces the agents of the pool.
func (f *Fleet) setAgents(list []Agent) {
	f.Agents, f.byID = list, make(map[cloud.InstanceID]*Agent, len(list))
	for i := range list {
		f.byID[list[i].ID] = &list[i]
	}
}

// Patience is the minimum time that machines have to join after the master has started, because no
// machine can join while the master is down. It is enough for a booting machine that was waiting for the
// master to download its program and set itself up.
const Patience = 5 * time.Minute

// Resume adjusts the state restored from an earlier master. It limits timestamps to now, because the
// clock may have been set back meanwhile.
func (f *Fleet) Resume(now time.Time) {
	for _, m := range f.Machines {
		m.Launched, m.Since, m.Accepted = soonerTime(m.Launched, now), soonerTime(m.Since, now), soonerTime(m.Accepted, now)
		switch m.State {
		case Starting:
			m.extendPeriod(f.Limits.MaxStarting, now)
		case Lost:
			m.extendPeriod(MaxLost, now)
		case Joined, Draining, Terminating, Gone:
		}
	}
	for _, l := range f.Launches {
		l.At, l.Until = soonerTime(l.At, now), soonerTime(l.Until, now.Add(ListLag))
	}
	for id, at := range f.Gone {
		f.Gone[id] = soonerTime(at, now)
	}
}

// extendPeriod leaves at least Patience of a running period, or all of a shorter one.
func (m *Machine) extendPeriod(period time.Duration, now time.Time) {
	if left := now.Add(min(Patience, period) - period); m.Since.Before(left) {
		m.Since = left
	}
}

func soonerTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// sortedIDs returns the ids of the machines in order. Sorting a thousand ids costs more than the rest of
// a decision, so the result is cached while it is valid.
func (f *Fleet) sortedIDs() []cloud.InstanceID {
	right := len(f.order) == len(f.Machines)
	for i := 0; right && i < len(f.order); i++ {
		right = f.Machines[f.order[i]] != nil
	}
	if !right {
		f.order = slices.Sorted(maps.Keys(f.Machines))
	}
	return f.order
}
