package elastic

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Change is one state transition of a machine.
type Change struct {
	Machine Machine
	From    State
}

// Observe updates the fleet from the scheduler's view of the pool. It returns the machines that have
// changed.
func (f *Fleet) Observe(agents []Agent, waiting []Gang, now time.Time) []Change {
	f.setAgents(agents)
	f.Waiting = waiting
	var out []Change
	for _, id := range f.sortedIDs() {
		m := f.Machines[id]
		from := m.State
		m.observeInstance(f.byID[id], now)
		if m.State != from {
			out = append(out, Change{Machine: *m, From: from})
		}
		if from == Starting && m.State == Joined {
			f.checkOffer(m, f.byID[id], now)
		}
	}
	return out
}

// checkOffer checks the slots of a machine that has just joined. One with too few slots is used for the
// tasks that fit; further machines of its offer are launched after growing delays, because a missing
// driver does not appear by itself.
func (f *Fleet) checkOffer(m *Machine, a *Agent, now time.Time) {
	if a.Slots >= f.Shape.Slots {
		f.Refusals.clearFor(m.Offer)
		return
	}
	f.Refuse(m.Offer, Refusal{
		Kind: cloud.Invalid, Broken: true,
		Text: fmt.Sprintf("machine %s (%s) has joined with %d slots, not %d", m.ID, m.Offer.Type, a.Slots, f.Shape.Slots),
		Fix:  "check its driver, or set the pool's slots per machine",
	}, now)
}

func (m *Machine) observeInstance(a *Agent, now time.Time) {
	switch {
	case a != nil && !a.Lost && (m.State == Starting || m.State == Lost):
		m.mustMove(Joined, now)
		m.missing = time.Time{}
		if m.Joined.IsZero() {
			m.Joined = now
		}
	case a == nil && m.State == Joined:
		m.mustMove(Lost, now)
	}
	switch {
	case a == nil || a.Busy:
		m.idle = time.Time{}
	case m.idle.IsZero():
		m.idle = now
	}
}

// mustMove makes a transition that is in the table.
func (m *Machine) mustMove(to State, now time.Time) {
	if err := m.moveTo(to, now); err != nil {
		panic(err) // unreachable: the table disagrees with the switch above
	}
}

// Granted records the machines of an answered launch. Machines that a list has reported before stay as
// they are.
func (f *Fleet) Granted(token string, list []cloud.Instance, now time.Time) []Change {
	l := f.Launches[token]
	delete(f.Launches, token)
	var out []Change
	for _, i := range list {
		if f.Machines[i.ID] != nil {
			continue
		}
		if _, gone := f.Gone[i.ID]; gone {
			continue
		}
		m := &Machine{ID: i.ID, State: Starting, Offer: i.Offer, Zone: i.Zone, Token: token, Launched: now, Since: now}
		if l != nil {
			m.Offer = l.Offer
		}
		f.Machines[i.ID] = m
		out = append(out, Change{Machine: *m})
	}
	return out
}

// See updates the fleet from a platform's list. It returns the machines that have changed, including
// those that are gone.
//
// Asked is when the list was requested: the answer may take a while and does not reflect later events.
//
// A list may be stale. A machine that it reports as ended has ended. A missing machine is considered
// gone only when it has been missing for ListLag and its agent is not connected. A machine that is known
// to be gone is not restored by a list that still shows it.
func (f *Fleet) See(list []cloud.Instance, asked, now time.Time) []Change {
	var out []Change
	listed := make(map[cloud.InstanceID]bool, len(list))
	for _, i := range list {
		listed[i.ID] = true
		m := f.Machines[i.ID]
		if m == nil {
			m = f.adoptInstance(i, asked, now)
			if m != nil {
				out = append(out, Change{Machine: *m})
			}
			continue
		}
		from := m.State
		if m.compareInstance(i, asked, now) {
			out = append(out, Change{Machine: *m, From: from})
			f.blameOffer(m, from, i, now)
		}
	}
	for _, id := range f.sortedIDs() {
		m := f.Machines[id]
		if listed[id] {
			m.missing = time.Time{}
			continue
		}
		from := m.State
		if m.noteMissing(f.byID[id], asked, now) {
			out = append(out, Change{Machine: *m, From: from})
			f.blameOffer(m, from, cloud.Instance{}, now)
		}
	}
	for _, c := range out {
		if c.Machine.State == Gone {
			f.Gone[c.Machine.ID] = now
			delete(f.Machines, c.Machine.ID)
		}
	}
	maps.DeleteFunc(f.Gone, func(_ cloud.InstanceID, at time.Time) bool { return now.Sub(at) > Memory })
	return out
}

// compareInstance compares a machine with its entry in a list, and reports whether the machine has
// changed.
func (m *Machine) compareInstance(i cloud.Instance, asked, now time.Time) bool {
	switch i.State {
	case cloud.InstanceTerminated:
		if m.State != Terminating || m.Reason == "" {
			m.Cause, m.Reason = CauseTaken, endReason(i)
		}
		m.mustMove(Gone, now)
		return true
	case cloud.InstanceStopped, cloud.InstanceStopping:
		if m.State == Terminating {
			wait := 2 * ListLag
			if i.State == cloud.InstanceStopping {
				wait = stopWait
			}
			return m.repeatEnd(asked, wait)
		}
		m.Cause, m.Reason = CauseTaken, endReason(i)
		if i.State == cloud.InstanceStopped {
			m.Cause, m.Reason = stopReason(i)
		}
		m.mustMove(Terminating, now)
		return true
	case cloud.InstanceStarting, cloud.InstanceRunning:
		return m.repeatEnd(asked, 2*ListLag)
	}
	return false
}

// stopWait is the time that a machine may take to stop before its termination is repeated.
const stopWait = 10 * time.Minute

// repeatEnd requests another termination if the last one was accepted longer than after ago without
// effect. It reports whether it does.
func (m *Machine) repeatEnd(asked time.Time, after time.Duration) bool {
	if m.State != Terminating || m.Accepted.IsZero() || asked.Sub(m.Accepted) <= after {
		return false
	}
	m.Accepted = time.Time{}
	return true
}

// blameOffer records the end of a machine against its offer. If the machine ended before its agent
// joined, the offer is refused regardless of the cause, because the next machine would probably end as
// well. If it was interrupted after it had served, the offer is avoided for a while.
func (f *Fleet) blameOffer(m *Machine, from State, i cloud.Instance, now time.Time) {
	switch {
	case from == Starting:
		f.Refuse(m.Offer, Refusal{
			Kind: cmp.Or(i.Kind, cloud.Invalid), Broken: true, Fix: cmp.Or(i.Fix, "see `det-deploy pool history`"),
			Text: fmt.Sprintf("machine %s (%s) ended before its agent joined: %s", m.ID, m.Offer.Type, m.Reason),
		}, now)
	case i.Kind == cloud.NoCapacity && (from == Joined || from == Lost):
		f.takeBack(m, now)
	}
}

// takeBack avoids the offer of an interrupted machine for a while. This is not a launch error, because
// no launch was requested.
func (f *Fleet) takeBack(m *Machine, now time.Time) {
	f.coolOff(m.Offer, Refusal{Kind: cloud.NoCapacity, Text: fmt.Sprintf("machine %s (%s) is interrupted: %s", m.ID, m.Offer.Type, m.Reason)}, now)
}

func endReason(i cloud.Instance) string {
	if i.Reason != "" {
		return "its platform terminated it: " + i.Reason
	}
	return "it was terminated externally"
}

// stopReason returns why a machine stopped: its platform interrupted it, or a user stopped it.
func stopReason(i cloud.Instance) (Cause, string) {
	if i.Kind == cloud.NoCapacity {
		return CauseTaken, endReason(i)
	}
	return CauseStopped, "it was stopped and would still be charged for its disk"
}

// noteMissing records that a list lacks a machine, and reports whether the machine is gone.
func (m *Machine) noteMissing(a *Agent, asked, now time.Time) bool {
	if a != nil && !a.Lost && m.State != Terminating {
		m.missing = time.Time{} // its agent is connected, so it exists
		return false
	}
	if m.missing.IsZero() {
		m.missing = asked
	}
	if asked.Sub(m.missing) < ListLag || asked.Sub(m.Launched) < ListLag {
		return false
	}
	if m.State != Terminating {
		m.Cause, m.Reason = CauseVanished, "its platform no longer lists it"
	}
	m.mustMove(Gone, now)
	return true
}

// adoptInstance adds a machine that is listed for the pool and whose launch is not recorded. It returns
// nil for a machine that does not belong to the pool yet, or no longer does.
func (f *Fleet) adoptInstance(i cloud.Instance, asked, now time.Time) *Machine {
	if i.State != cloud.InstanceStarting && i.State != cloud.InstanceRunning && i.State != cloud.InstanceStopped {
		return nil
	}
	at, gone := f.Gone[i.ID]
	switch {
	case gone && asked.Sub(at) < 2*ListLag:
		return nil // the list is older than its end
	case i.Token == "" && len(f.Launches) > 0:
		return nil // it may belong to a launch that is still unanswered
	}
	delete(f.Gone, i.ID)
	m := &Machine{ID: i.ID, State: Starting, Offer: i.Offer, Zone: i.Zone, Token: i.Token, Launched: i.Launched, Since: now}
	if a := f.byID[i.ID]; a != nil && !a.Lost {
		m.State, m.Joined = Joined, now
	}
	if m.Launched.IsZero() || m.Launched.After(now) {
		m.Launched = now
	}
	if i.State == cloud.InstanceStopped {
		m.State = Terminating
		m.Cause, m.Reason = stopReason(i)
	}
	if gone {
		m.State, m.Cause, m.Reason = Terminating, CauseVanished, fmt.Sprintf("it was considered gone since %s", at.UTC().Format(time.RFC3339))
	}
	f.Machines[i.ID] = m
	return m
}
