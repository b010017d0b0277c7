package elastic

import (
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// State is the state of a machine. Before the machine has an id it is part of a Launch.
//
//	Launch ──granted──▶ Starting ──joins──▶ Joined ──must go──▶ Draining ──is empty──▶ Terminating ──▶ Gone
//	                      │   ▲              │  ▲ ▲                │                     ▲
//	                      │   └──── adopted  │  │ └─has work again─┘                     │
//	                      │                  ▼  │                                        │
//	                      │                 Lost ─────────stays away────────────────────▶┤
//	                      └────────never joins, or exceeds Max──────────────────────────▶┘
//
// From every state a machine becomes Gone when its platform reports its end.
type State string

// State values.
const (
	// Starting was granted; its agent has not joined.
	Starting State = "starting"
	// Joined has an agent.
	Joined State = "joined"
	// Lost had an agent, which the master has removed.
	Lost State = "lost"
	// Draining gets no new work and is terminated when it is empty.
	Draining State = "draining"
	// Terminating is to be terminated, or the termination has been requested.
	Terminating State = "terminating"
	// Gone has ended.
	Gone State = "gone"
)

var states = map[State][]State{
	Starting:    {Joined, Terminating, Gone},
	Joined:      {Lost, Draining, Terminating, Gone},
	Lost:        {Joined, Terminating, Gone},
	Draining:    {Joined, Terminating, Gone},
	Terminating: {Gone},
	Gone:        {},
}

// Machine is one machine that was launched for the pool.
type Machine struct {
	ID    cloud.InstanceID `json:"id"`
	State State            `json:"state"`
	Offer cloud.Offer      `json:"offer"`
	// Zone is the machine's zone, empty if its platform does not report it.
	Zone  string `json:"zone,omitempty"`
	Token string `json:"token,omitempty"`
	// Launched is when the machine was granted, Joined when its agent first joined, Since when its state
	// began.
	Launched time.Time `json:"launched"`
	Joined   time.Time `json:"joined,omitzero"`
	Since    time.Time `json:"since"`
	// Cause and Reason are why the machine is removed.
	Cause  Cause  `json:"cause,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Accepted is when its platform accepted the termination.
	Accepted time.Time `json:"accepted,omitzero"`

	// idle is since when nothing runs on it, missing since when lists lack it.
	idle    time.Time
	missing time.Time
}

// Cause is the rule by which a machine is removed.
type Cause string

// Cause values.
const (
	CauseIdle    Cause = "idle"
	CauseSurplus Cause = "over-max"
	CauseNoJoin  Cause = "never-joined"
	CauseLost    Cause = "lost"
	// CauseUnprepared is a machine that could not be set up.
	CauseUnprepared Cause = "unprepared"
	CauseStopped    Cause = "stopped"
	// CauseTaken is a machine that its platform or one of the platform's users ended.
	CauseTaken Cause = "taken-back"
	// CauseVanished is a machine that its platform no longer lists.
	CauseVanished Cause = "vanished"
	// CauseRevoked is a machine whose agent an administrator has revoked.
	CauseRevoked Cause = "revoked"
	// CausePoolGone is a machine whose pool no longer launches machines.
	CausePoolGone Cause = "pool-gone"
)

// Planned reports whether the pool removed the machine to fit its size.
func (c Cause) Planned() bool { return c == CauseIdle || c == CauseSurplus }

// moveTo changes the state of a machine. It returns an error for a transition that is not in the table.
func (m *Machine) moveTo(to State, now time.Time) error {
	if !slices.Contains(states[m.State], to) {
		return fmt.Errorf("cannot move machine %s from %s to %s: no such transition", m.ID, m.State, to)
	}
	m.State, m.Since = to, now
	return nil
}

// Move changes the state of a machine as decided. An error is a bug in the caller.
func (f *Fleet) Move(id cloud.InstanceID, to State, why Why, now time.Time) error {
	m := f.Machines[id]
	if m == nil {
		return fmt.Errorf("cannot move machine %s to %s: unknown machine", id, to)
	}
	if err := m.moveTo(to, now); err != nil {
		return err
	}
	m.Cause, m.Reason = why.Cause, why.Reason
	if to == Draining && why.Cause == CauseTaken {
		f.takeBack(m, now)
	}
	if to == Gone {
		f.Gone[id] = now
		delete(f.Machines, id)
	}
	return nil
}

// Why is the reason why a machine is removed.
type Why struct {
	Cause  Cause
	Reason string
}

// Idle returns since when nothing has been running on the machine; zero if it is in use.
func (m *Machine) Idle() time.Time { return m.idle }
