package elastic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Decision lists the actions to take now. It may be carried out in part and recomputed.
type Decision struct {
	// Launch has at most one entry, the next call for machines.
	Launch []Ask
	// Drain lists joined machines that are removed once they are empty; Keep lists draining machines to
	// put back into service; Terminate lists those to remove at once. Diagnose lists those of the
	// terminated machines whose console output should be read.
	Drain     []Going
	Keep      []cloud.InstanceID
	Terminate []Going
	Diagnose  []cloud.InstanceID
	// Kill lists terminating machines whose termination the platform has not accepted yet.
	Kill []cloud.InstanceID
	// Forget lists launches that are not repeated. The next list shows the machines that they launched.
	Forget []string

	// Demand is the number of further machines that the waiting tasks need, within the limits. Fates has
	// the fate of each of Fleet.Waiting, and Fail lists the tasks that fail because of the persistent
	// launch error.
	Demand int
	Fates  []Fate
	Fail   []string
	// Standing is the refusal that prevents Demand from being launched.
	Standing Refusal
	// Wake is the time at which the decision changes without an event; zero means never.
	Wake time.Time
}

// Ask is a call for machines.
type Ask struct {
	Offer cloud.Offer
	Count int
}

// Going is a machine to remove.
type Going struct {
	ID  cloud.InstanceID
	Why Why
}

// Decide returns the machines to launch and to remove.
//
// It removes machines in this order: interrupted and stopped ones; those whose agent has been lost for
// MaxLost; those that did not join within MaxStarting; those that have been idle for MaxIdle and that no
// waiting task needs, as long as Min remain; and while there are more than Max: starting machines,
// newest first, then idle, lost and busy ones. Machines with an agent are drained first. A machine that
// gets work while it drains for idleness is kept. Among equal candidates the longest idle one is removed
// first, then the oldest, then the one with the smaller id.
//
// It launches the machines that waiting tasks need beyond the free, promised, starting and requested
// ones, or those missing to Min; never more than Max, and from the first offer without an active
// refusal.
func Decide(f *Fleet, now time.Time) Decision {
	d := Decision{}
	present := f.countPresent()
	// stay is the number of machines left after the removals.
	stay := present - d.removeMachines(f, present, now)
	need := f.assessDemand(max(f.Limits.Max-present, 0))
	d.Fates, d.Demand = need.fates, need.machines
	stay -= d.removeSurplus(f, stay-f.Limits.Max)
	d.removeIdle(f, need.used, stay-f.Limits.Min, now)
	// A replacement is launched only after the platform has accepted the termination of the machine that
	// it replaces, so that there are never more than Max.
	d.addLaunch(f, min(max(need.machines, f.Limits.Min-stay), f.Limits.Max-present), now)
	d.failTasks(f, now)
	d.forgetMachine(f, now)
	return d
}

func (d *Decision) wakeAt(at, now time.Time) {
	if at.After(now) && (d.Wake.IsZero() || at.Before(d.Wake)) {
		d.Wake = at
	}
}

// isDue reports whether a period that began at since has elapsed. If not, it schedules a wake-up for its
// end.
func (d *Decision) isDue(since time.Time, period time.Duration, now time.Time) bool {
	at := since.Add(period)
	d.wakeAt(at, now)
	return !at.After(now)
}

// removeMachines removes the machines that must go regardless of demand, and returns the number of those
// that are leaving.
func (d *Decision) removeMachines(f *Fleet, present int, now time.Time) (leaving int) {
	for _, id := range f.sortedIDs() {
		m := f.Machines[id]
		switch m.State {
		case Terminating:
			if m.Accepted.IsZero() {
				d.Kill = append(d.Kill, id)
				leaving++
			}
		case Starting:
			if d.isDue(m.Since, f.Limits.MaxStarting, now) {
				d.terminateMachine(m, Why{CauseNoJoin, fmt.Sprintf("its agent did not join within %v", f.Limits.MaxStarting)})
				d.Diagnose = append(d.Diagnose, id)
				leaving++
			}
		case Lost:
			if d.isDue(m.Since, MaxLost, now) {
				d.terminateMachine(m, Why{CauseLost, fmt.Sprintf("its agent was lost for %v", MaxLost)})
				leaving++
			}
		case Draining:
			leaving += d.decideDraining(m, f.byID[id], present > f.Limits.Max)
		case Joined, Gone:
		}
	}
	return leaving
}

// decideDraining terminates a draining machine once it is empty, or keeps it if it is needed again. It
// returns 0 for a machine that is kept, and 1 otherwise.
func (d *Decision) decideDraining(m *Machine, a *Agent, above bool) int {
	switch {
	case a == nil || !a.Busy:
		d.terminateMachine(m, Why{m.Cause, m.Reason})
	case m.Cause == CauseIdle, m.Cause == CauseSurplus && !above:
		d.Keep = append(d.Keep, m.ID)
		return 0
	}
	return 1
}

func (d *Decision) terminateMachine(m *Machine, why Why) {
	d.Terminate = append(d.Terminate, Going{m.ID, why})
}

// removeSurplus removes the machines above the maximum, after it was lowered.
func (d *Decision) removeSurplus(f *Fleet, above int) (leaving int) {
	if above <= 0 {
		return 0
	}
	rank := func(m *Machine) int {
		switch {
		case m.State == Starting:
			return 0
		case m.State == Joined && !m.idle.IsZero():
			return 1
		case m.State == Lost:
			return 2
		}
		return 3
	}
	list := f.listCandidates(d, func(m *Machine) bool { return true })
	slices.SortStableFunc(list, func(a, b *Machine) int {
		if c := cmp.Compare(rank(a), rank(b)); c != 0 || rank(a) == 1 {
			return c // idle machines are already in order
		}
		return b.Launched.Compare(a.Launched)
	})
	why := Why{CauseSurplus, fmt.Sprintf("the pool exceeds its maximum of %d", f.Limits.Max)}
	list = list[:min(above, len(list))]
	for _, m := range list {
		if m.State == Joined {
			d.Drain = append(d.Drain, Going{m.ID, why})
			continue
		}
		d.terminateMachine(m, why)
	}
	return len(list)
}

// removeIdle removes idle machines that no task needs. Unusable ones are removed first and do not count
// towards Min: a machine without its devices, or one that an operator has disabled, cannot serve as a
// warm one.
func (d *Decision) removeIdle(f *Fleet, used map[cloud.InstanceID]bool, spare int, now time.Time) {
	list := f.listCandidates(d, func(m *Machine) bool { return m.State == Joined && !m.idle.IsZero() && !used[m.ID] })
	cold, warm := make([]*Machine, 0, len(list)), make([]*Machine, 0, len(list))
	for _, m := range list {
		if f.isUseless(m, slices.Contains(d.Fates, AtMax)) {
			cold = append(cold, m)
		} else {
			warm = append(warm, m)
		}
	}
	for i, m := range slices.Concat(cold, warm) {
		if spare <= 0 && i >= len(cold) {
			return
		}
		if d.isDue(m.idle, f.Limits.MaxIdle, now) {
			d.Drain = append(d.Drain, Going{m.ID, Why{CauseIdle, fmt.Sprintf("it was idle for %v", f.Limits.MaxIdle)}})
			spare--
		}
	}
}

// listCandidates returns the machines that are not being removed, in the order in which equal candidates
// are removed.
func (f *Fleet) listCandidates(d *Decision, may func(*Machine) bool) []*Machine {
	going := make(map[cloud.InstanceID]bool, len(d.Terminate)+len(d.Drain))
	for _, g := range slices.Concat(d.Terminate, d.Drain) {
		going[g.ID] = true
	}
	var out []*Machine
	for _, id := range f.sortedIDs() {
		m := f.Machines[id]
		if m.State != Terminating && m.State != Draining && !going[id] && may(m) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *Machine) int {
		return cmp.Or(a.idle.Compare(b.idle), a.Launched.Compare(b.Launched), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// addLaunch requests count machines of the first available offer. Without one it records the refusal
// that prevents the launch.
func (d *Decision) addLaunch(f *Fleet, count int, now time.Time) {
	if count <= 0 {
		return
	}
	if r, shown := f.Shown(now); shown {
		d.Standing = r
		d.wakeAt(r.Until, now)
		return
	}
	o, standing, ok := f.chooseOffer(now)
	if !ok {
		d.Standing = standing
		d.wakeAt(standing.Until, now)
		return
	}
	if len(f.Launches) < openLaunches {
		d.Launch = append(d.Launch, Ask{Offer: o, Count: count})
	}
}

// failTasks lists the tasks that exceed the present slots while a launch error persists.
func (d *Decision) failTasks(f *Fleet, now time.Time) {
	r, shown := f.Shown(now)
	if !shown {
		return
	}
	d.wakeAt(r.Until, now)
	have := 0
	for _, a := range f.Agents {
		have += a.Slots
	}
	for i, g := range f.Waiting {
		if g.Slots > have && d.Fates[i] != AtJobLimit {
			d.Fail = append(d.Fail, g.ID)
		}
	}
}

func (d *Decision) forgetMachine(f *Fleet, now time.Time) {
	for token, l := range f.Launches {
		end := l.Until
		if end.IsZero() {
			end = l.At.Add(TokenLife)
		}
		if d.isDue(end, 0, now) {
			d.Forget = append(d.Forget, token)
		}
	}
	slices.Sort(d.Forget)
}
