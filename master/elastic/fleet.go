// Package elastic decides how many machines a resource pool has: when one is
// launched because tasks wait, from which offer, and when one goes because
// nothing needs it. It is pure: the same fleet and clock always give the same
// answer, so every rule has a row in a table test and none needs a cloud.
//
//	what was seen ──▶ Observe, See, Grant, Refuse ──▶ Fleet ──▶ Decide ──▶ what is to be done
//
// The caller (master/launcher) keeps the Fleet, tells it what it sees, and
// carries out what Decide says.
package elastic

import (
	"maps"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Limits are the settings of a pool's provider.
type Limits struct {
	// Min machines are kept whether or not anything needs them; there are
	// never more than Max.
	Min, Max int
	// MaxIdle is how long a machine may be without work, MaxStarting how long
	// until its agent has joined.
	MaxIdle     time.Duration
	MaxStarting time.Duration
	// ErrorTimeout is how long a launch error is remembered; 0 never gives up
	// on a task. ErrorRetries is how many in a row are tolerated.
	ErrorTimeout time.Duration
	ErrorRetries int
}

const (
	// MaxLost is how long a machine whose agent has gone may stay away, the
	// constant of Determined 0.38.1.
	MaxLost = 10 * time.Minute
	// ListLag is how far a platform's list may be behind what it was told:
	// twice as long as EC2 is usually seen to take, and longer than the minute
	// that cloud.Instances speaks of.
	ListLag = 90 * time.Second
	// Memory is how long a machine that is gone is remembered, so that a late
	// list does not bring it back. EC2 lists what it has ended for an hour.
	Memory = 2 * time.Hour
	// TokenLife is how long a launch may be sent again under its token. EC2
	// promises a day; a quarter of it leaves room for clocks.
	TokenLife = 6 * time.Hour
	// openLaunches is how many launch calls may be without an answer.
	openLaunches = 8
)

// Shape is what one new machine of the pool offers.
type Shape struct {
	// Slots is how many devices, Aux how many zero-slot tasks it may run.
	Slots int
	Aux   int
}

// Fleet is everything a decision looks at.
type Fleet struct {
	Limits Limits
	// Offers are tried in this order, but for those that are scarce.
	Offers []cloud.Offer
	Shape  Shape
	// Machines are those that are not gone.
	Machines map[cloud.InstanceID]*Machine
	// Launches are the calls without an answer. They count as machines.
	Launches map[string]*Launch
	// Gone remembers when machines went.
	Gone map[cloud.InstanceID]time.Time

	// Agents are those of the pool, launched or not, and Waiting what waits
	// there, in the order in which it is served.
	Agents  []Agent
	Waiting []Gang

	Refusals Refusals
	// Scarce is when offers had no machines last that have granted none since.
	Scarce map[cloud.Offer]time.Time

	// byID finds Agents; order is the machines in a fixed order, if it is still
	// theirs.
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

// Launch is one call for machines whose answer is not known yet.
type Launch struct {
	Token string      `json:"token"`
	Offer cloud.Offer `json:"offer"`
	Count int         `json:"count"`
	At    time.Time   `json:"at"`
	// Until is set when the call is not made again, although it may have had its
	// effect: by then the platform lists what it gave.
	Until time.Time `json:"until,omitzero"`
}

// Repeatable reports whether the same call, made again, is still one launch.
func (l *Launch) Repeatable(now time.Time) bool { return l.Until.IsZero() && now.Sub(l.At) < TokenLife }

// Settle leaves a call alone whose token the platform knows for something else:
// a master of another configuration has made it before. What it gave counts until
// the list shows it.
func (f *Fleet) Settle(token string, now time.Time) {
	if l := f.Launches[token]; l != nil && l.Until.IsZero() {
		l.Until = now.Add(ListLag)
	}
}

// Agent is one agent of the pool as its scheduler sees it.
type Agent struct {
	// ID is also the machine's, if the master launched it.
	ID cloud.InstanceID
	// Slots are those it has, Free those that a waiting task can have, now or
	// when what was asked to stop has stopped; Aux is the same for zero-slot
	// tasks.
	Slots, Free, Aux int
	// Busy says that something runs there.
	Busy bool
	// Lost says that its link is broken, and that it is waited for.
	Lost bool
}

// Gang is one allocation that waits for slots.
type Gang struct {
	ID string
	// Slots is what it needs at once; 0 is one place for a zero-slot task.
	Slots int
	// Single gangs are never split over machines.
	Single bool
	// Exclude lists agents that it must not use.
	Exclude []cloud.InstanceID
	// Promised says that slots are being released for it.
	Promised bool
	// Job is whose it is, and JobRoom how many slots more that job may hold;
	// negative is no limit.
	Job     string
	JobRoom int
}

// countPresent counts the machines that cost money and those that were asked for: all
// but those whose end the platform has accepted.
func (f *Fleet) countPresent() int {
	n := f.countLaunching()
	for _, m := range f.Machines {
		if m.State != Terminating || m.Accepted.IsZero() {
			n++
		}
	}
	return n
}

// countLaunching counts the machines that were asked for and are not known by name.
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

// isUseless reports whether nothing could run on an idle machine or, where it keeps
// a whole one from a gang that waits, less than on a new one.
func (f *Fleet) isUseless(m *Machine, stands bool) bool {
	a := f.byID[m.ID]
	if f.Shape.Slots == 0 {
		return a.Aux == 0 && f.Shape.Aux > 0
	}
	return a.Free == 0 || stands && a.Free < f.Shape.Slots
}

// setAgents takes in the agents of the pool.
func (f *Fleet) setAgents(list []Agent) {
	f.Agents, f.byID = list, make(map[cloud.InstanceID]*Agent, len(list))
	for i := range list {
		f.byID[list[i].ID] = &list[i]
	}
}

// Patience is how long machines have, at the least, to come to a master that has
// just started: while there was no master no machine could. It is what a boot needs that
// was waiting for it to fetch its program and set itself up.
const Patience = 5 * time.Minute

// Resume takes up what an earlier master has left. Clocks may have been set back
// meanwhile: nothing has happened in the future.
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

// extendPeriod leaves Patience of a period that is running, or all of it.
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

// sortedIDs is the machines in a fixed order. Sorting a thousand names costs more than
// all that is decided about them, so the order is kept while it is right.
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
