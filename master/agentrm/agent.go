package agentrm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// markReceived notes that the agent has the container. What it runs need not be sent
// again, and is let go of: it may hold many megabytes of files.
func (c *container) markReceived() { c.received, c.spec = true, nil }

// NoticeKind is what a machine's platform announces.
type NoticeKind string

// The kinds of notices.
const (
	// Interruption is a machine that will be gone at the notice's time.
	Interruption NoticeKind = "interruption"
	// Rebalance is a machine that is likelier to be taken back than others.
	Rebalance NoticeKind = "rebalance"
)

// Notice is a platform's word that it may take a machine back.
type Notice struct {
	Kind NoticeKind
	// At is when: of an interruption when the machine will be gone.
	At time.Time
	// Reason is the platform's words.
	Reason string
}

// reasonFor is a notice as the reason of what ends through it.
func (n Notice) reasonFor(id rm.AgentID) string {
	text := "machine " + string(id) + " will be interrupted by its cloud at " + n.At.UTC().Format(time.RFC3339)
	if n.Reason != "" {
		text += " (" + n.Reason + ")"
	}
	return text
}

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

// agent is one machine. state.mu guards it.
type agent struct {
	id      rm.AgentID
	pool    string
	version string
	address string
	own     string // its address by its own account
	// machine is the same for agents on one machine; empty for agents that do not say.
	machine string
	// interfaces are the addresses of its network interfaces by their names.
	interfaces map[string]string
	devices    []*apiv1.Device
	presence   Presence
	// since is when the presence began; registered when the agent first joined.
	since      time.Time
	registered time.Time
	// state is the operator's switch, slots those of single devices; a device
	// that is not in it is enabled.
	state rm.Switch
	slots map[int]rm.Switch
	link  *link.Link
	// notice is what its machine announced last, nil for nothing.
	notice *Notice
	// sick is what keeps it from starting containers, nil for nothing.
	sick *Sickness
	// restrictions are why it cannot run some tasks.
	restrictions restrictions
	// retired says that its machine is to go: it gets nothing new.
	retired bool
	// containers are those assigned to it and not ended.
	containers map[rm.ContainerID]*container
}

// takesNothing reports whether the agent gets nothing new, although it is there.
func (a *agent) takesNothing() bool {
	return a.state == rm.Drain || a.retired || a.notice != nil || a.sick != nil
}

// lostReason is why an agent did not come back.
func (a *agent) lostReason() string {
	if a.notice != nil && a.notice.Kind == Interruption {
		return a.notice.reasonFor(a.id)
	}
	return "agent " + string(a.id) + " was lost: it did not come back in time"
}

// setState moves an agent. It refuses what the table lacks.
func (a *agent) setState(to Presence, now time.Time) error {
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

// sendMessage passes m on to the agent, if it is connected. What is lost here is said
// again when it comes back.
func (a *agent) sendMessage(m link.Message) {
	if a != nil && a.link != nil {
		a.link.Send(m)
	}
}

func (a *agent) findDevice(slot int) *apiv1.Device {
	for _, d := range a.devices {
		if int(d.GetId()) == slot {
			return d
		}
	}
	return &apiv1.Device{Id: int32(slot)} //nolint:gosec // slots come from device ids, which are int32
}

// Sickness is what keeps an agent from starting containers. It keeps what it runs and
// gets nothing new until the agent says that it is well. It is not stored: the agent
// says it in every hello.
type Sickness struct {
	// Lack is what its machine has run out of: one word of few.
	Lack string
	// Reason is the agent's word for it.
	Reason string
	Since  time.Time
}

// sicknessOf is nil for an agent that is well.
func sicknessOf(h *agentv1.Health) *Sickness {
	if h.GetLack() == agentv1.Health_LACK_UNSPECIFIED {
		return nil
	}
	return &Sickness{
		Lack: lackName(h.GetLack()), Reason: excerpt.Of(h.GetReason()), Since: agentv1.Instant(h.GetSinceUs(), time.Now()),
	}
}

// lackName is a lack as people and metrics name it; later agents may know more of them.
func lackName(l agentv1.Health_Lack) string {
	if _, known := agentv1.Health_Lack_name[int32(l)]; !known {
		return "other"
	}
	return strings.ToLower(strings.TrimPrefix(l.String(), "LACK_"))
}

func (a *agent) hasSlot(slot int) bool {
	return slices.ContainsFunc(a.devices, func(d *apiv1.Device) bool { return int(d.GetId()) == slot })
}

// hasRoom reports whether the agent can be given a container with slots now, or one
// without any, of which it takes maxAux, of a task with these needs.
func (a *agent) hasRoom(slots []int, maxAux int, n needs) bool {
	if a.presence != Connected || a.state == rm.Disable || a.takesNothing() || a.restrictions.refuse(n) != "" {
		return false
	}
	aux := 0
	for _, c := range a.containers {
		if len(c.devices) == 0 {
			aux++
		}
		if slices.ContainsFunc(slots, c.usesSlot) {
			return false
		}
	}
	for _, slot := range slots {
		if !a.hasSlot(slot) || a.slotSwitch(slot) != rm.Enable {
			return false
		}
	}
	return len(slots) > 0 || aux < maxAux
}

// slotSwitch is the switch of one device.
func (a *agent) slotSwitch(id int) rm.Switch {
	if s, set := a.slots[id]; set {
		return s
	}
	return rm.Enable
}

func newAgent(id rm.AgentID, now time.Time) *agent {
	return &agent{
		id: id, presence: Connected, since: now, registered: now, state: rm.Enable,
		slots: make(map[int]rm.Switch), containers: make(map[rm.ContainerID]*container),
	}
}
