package elastic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Decision is what should happen now. It may be carried out in part, and asked
// for again.
type Decision struct {
	// Launch has at most one entry: the next call for machines.
	Launch []Ask
	// Drain lists joined machines that must go when they are empty; Keep takes
	// that back; Terminate lists those that go at once. Diagnose lists those of
	// them whose last boot lines are worth a look.
	Drain     []Going
	Keep      []cloud.InstanceID
	Terminate []Going
	Diagnose  []cloud.InstanceID
	// Kill lists terminating machines that the platform has not been told of.
	Kill []cloud.InstanceID
	// Forget lists launches that are not sent again; the list shows what they
	// gave.
	Forget []string

	// Demand is how many machines more the waiting tasks need, within the
	// limits. Fates says what becomes of each of Fleet.Waiting, and Fail lists
	// those that are given up for the launch error that shows.
	Demand int
	Fates  []Fate
	Fail   []string
	// Standing is the refusal that keeps Demand from being launched.
	Standing Refusal
	// Wake is when the decision changes without any event; zero means never.
	Wake time.Time
}

// Ask is one call to be made.
type Ask struct {
	Offer cloud.Offer
	Count int
}

// Going is one machine that must go.
type Going struct {
	ID  cloud.InstanceID
	Why Why
}

// Decide says what is launched and what goes.
//
// What goes, in this order: what was stopped or taken back; what stayed away
// for MaxLost; what did not join within MaxStarting; what is idle for MaxIdle
// and not needed by anything that waits, as long as Min remain; and while there
// are more than Max: starting machines, newest first, then idle, lost and busy
// ones. Machines with an agent are drained first, and one that has got work
// after all is kept. Of equal candidates the longest idle goes, then the
// oldest, then the one with the smaller id.
//
// What is launched: what the waiting tasks need beyond what is free, promised,
// starting or asked for, or what is missing to Min; never above Max, and from
// the first offer that no refusal stands against.
func Decide(f *Fleet, now time.Time) Decision {
	d := Decision{}
	present := f.countPresent()
	// stay is how many there are when all that must go has gone.
	stay := present - d.removeMachines(f, present, now)
	need := f.assessDemand(max(f.Limits.Max-present, 0))
	d.Fates, d.Demand = need.fates, need.machines
	stay -= d.removeSurplus(f, stay-f.Limits.Max)
	d.removeIdle(f, need.used, stay-f.Limits.Min, now)
	// A machine that replaces one waits until that one's end is accepted, so
	// that there are never more than Max.
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

// isDue reports whether a period that began at since is over, and else when to
// look again.
func (d *Decision) isDue(since time.Time, period time.Duration, now time.Time) bool {
	at := since.Add(period)
	d.wakeAt(at, now)
	return !at.After(now)
}

// removeMachines finds what goes whatever the demand, and counts what is on its way out.
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
				d.terminateMachine(m, Why{CauseLost, fmt.Sprintf("its agent was away for %v", MaxLost)})
				leaving++
			}
		case Draining:
			leaving += d.decideDraining(m, f.byID[id], present > f.Limits.Max)
		case Joined, Gone:
		}
	}
	return leaving
}

// decideDraining says what becomes of a draining machine; it answers 0 for one that
// stays.
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

// removeSurplus sends away what is above the maximum, which happens when it was
// lowered.
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
			return c // idle ones are in their order already
		}
		return b.Launched.Compare(a.Launched)
	})
	why := Why{CauseSurplus, fmt.Sprintf("the pool may have %d machines", f.Limits.Max)}
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

// removeIdle sends away what nothing needs. What nothing can use goes first, and is not
// kept for Min: a machine without its devices, or that an operator has switched
// off, is not warm.
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

// listCandidates lists machines that stay so far, in the order in which equals go.
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

// addLaunch asks for what is needed, from the first offer that may be asked.
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

// failTasks gives up on tasks that the pool is too small for while the launch error
// shows.
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
