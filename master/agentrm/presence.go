package agentrm

import (
	"fmt"
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Presence is what the master knows of an agent's whereabouts.
//
//	──says hello──▶ Connected ──link breaks──▶ Lost ──reconnect wait──▶ Gone
//	                    ▲                       │ ▲
//	                    └──────says hello───────┘ └── master restarts
//
// A lost agent keeps its containers and gets no new ones. The containers of one
// that is gone are given up; should it come back, it is told to kill them.
type Presence string

const (
	// Connected has a link.
	Connected Presence = "connected"
	// Lost has none, but may come back in time.
	Lost Presence = "lost"
	// Gone did not.
	Gone Presence = "gone"
)

var presences = map[Presence][]Presence{
	Connected: {Lost},
	Lost:      {Connected, Gone},
	Gone:      {},
}

// agent is one machine. RM.mu guards it.
type agent struct {
	id       rm.AgentID
	pool     string
	version  string
	address  string
	own      string // its address by its own account
	devices  []*apiv1.Device
	presence Presence
	// since is when the presence began; registered when the agent first joined.
	since      time.Time
	registered time.Time
	// state is the operator's switch, slots those of single devices; a device
	// that is not in it is enabled.
	state rm.Switch
	slots map[int]rm.Switch
	link  *link
	// notice is what its machine announced last, nil for nothing.
	notice *Notice
	// sick is what keeps it from starting containers, nil for nothing.
	sick *Sickness
	// retired says that its machine is to go: it gets nothing new.
	retired bool
	// containers are those assigned to it and not ended.
	containers map[rm.ContainerID]*container
}

// leaves reports whether the agent gets nothing new, although it is there.
func (a *agent) leaves() bool {
	return a.state == rm.Drain || a.retired || a.notice != nil || a.sick != nil
}

// vanished is why an agent did not come back.
func (a *agent) vanished() string {
	if a.notice != nil && a.notice.Kind == Interruption {
		return a.notice.because(a.id)
	}
	return "agent " + string(a.id) + " was lost: it did not come back in time"
}

// transition moves an agent. It refuses what the table lacks.
func (a *agent) transition(to Presence, now time.Time) error {
	if !slices.Contains(presences[a.presence], to) {
		return fmt.Errorf("move agent %s from %s to %s: there is no such step", a.id, a.presence, to)
	}
	a.presence, a.since = to, now
	return nil
}

// sameDevices reports whether an agent has what it had. Brands may change with
// a driver; identities may not.
func sameDevices(a, b []*apiv1.Device) bool {
	return slices.EqualFunc(a, b, func(x, y *apiv1.Device) bool {
		return x.GetId() == y.GetId() && x.GetUuid() == y.GetUuid() && x.GetType() == y.GetType()
	})
}

// send passes m on to the agent, if it is connected. What is lost here is said
// again when it comes back.
func (a *agent) send(m message) {
	if a != nil && a.link != nil {
		a.link.send(m)
	}
}
