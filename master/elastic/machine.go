package elastic

import (
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// State is where a machine stands. Before it has a name it is part of a Launch.
//
//	Launch ──granted──▶ Starting ──joins──▶ Joined ──must go──▶ Draining ──is empty──▶ Terminating ──▶ Gone
//	                      │   ▲              │  ▲ ▲                │                     ▲
//	                      │   └──── adopted  │  │ └─has work again─┘                     │
//	                      │                  ▼  │                                        │
//	                      │                 Lost ─────────stays away────────────────────▶┤
//	                      └────────never joins, or is one too many──────────────────────▶┘
//
// From every state a machine is Gone when its platform says so.
type State string

// The states.
const (
	// Starting was granted; its agent has not joined.
	Starting State = "starting"
	// Joined has an agent.
	Joined State = "joined"
	// Lost had one, which was given up.
	Lost State = "lost"
	// Draining gets nothing new and goes when it is empty.
	Draining State = "draining"
	// Terminating is to be terminated, or was.
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
	// Zone is where it stands, empty where its platform does not tell.
	Zone  string `json:"zone,omitempty"`
	Token string `json:"token,omitempty"`
	// Launched is when it was granted, Joined when its agent first joined, Since
	// when its state began.
	Launched time.Time `json:"launched"`
	Joined   time.Time `json:"joined,omitzero"`
	Since    time.Time `json:"since"`
	// Cause and Reason say why it goes.
	Cause  Cause  `json:"cause,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Accepted is when its platform took the termination.
	Accepted time.Time `json:"accepted,omitzero"`

	// idle is since when nothing runs on it, missing since when it is not listed.
	idle    time.Time
	missing time.Time
}

// Cause is the rule by which a machine goes.
type Cause string

// The causes.
const (
	CauseIdle    Cause = "idle"
	CauseSurplus Cause = "over-max"
	CauseNoJoin  Cause = "never-joined"
	CauseLost    Cause = "lost"
	// CauseUnprepared is a machine that could not be set up.
	CauseUnprepared Cause = "unprepared"
	CauseStopped    Cause = "stopped"
	// CauseTaken is a machine that its platform, or a user of it, ended.
	CauseTaken Cause = "taken-back"
	// CauseVanished is a machine that its platform no longer lists.
	CauseVanished Cause = "vanished"
	// CauseRevoked is a machine whose agent an administrator has revoked.
	CauseRevoked Cause = "revoked"
	// CausePoolGone is a machine whose pool launches none any more.
	CausePoolGone Cause = "pool-gone"
)

// Planned reports whether it was the pool's own wish.
func (c Cause) Planned() bool { return c == CauseIdle || c == CauseSurplus }

// moveTo moves a machine. It refuses what the table lacks.
func (m *Machine) moveTo(to State, now time.Time) error {
	if !slices.Contains(states[m.State], to) {
		return fmt.Errorf("move machine %s from %s to %s: there is no such step", m.ID, m.State, to)
	}
	m.State, m.Since = to, now
	return nil
}

// Move carries out what Decide said of a machine. The error is a broken promise
// of ours.
func (f *Fleet) Move(id cloud.InstanceID, to State, why Why, now time.Time) error {
	m := f.Machines[id]
	if m == nil {
		return fmt.Errorf("move machine %s to %s: it is not known", id, to)
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

// Why is the reason for which a machine goes.
type Why struct {
	Cause  Cause
	Reason string
}

// Idle is since when nothing runs on it; zero while something does.
func (m *Machine) Idle() time.Time { return m.idle }
