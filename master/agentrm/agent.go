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

// markReceived records that the agent has the container on disk. Its spec, which may hold many megabytes
// of files, need not be sent again and is released.
func (c *container) markReceived() { c.received, c.spec = true, nil }

// NoticeKind is the kind of a platform's notice.
type NoticeKind string

// Notice kinds.
const (
	// Interruption announces that the machine will be gone at the notice's time.
	Interruption NoticeKind = "interruption"
	// Rebalance announces that the machine is at an elevated risk of interruption.
	Rebalance NoticeKind = "rebalance"
)

// Notice announces that a platform may interrupt a machine.
type Notice struct {
	Kind NoticeKind
	// At is the time of the notice, or of the interruption.
	At time.Time
	// Reason is the platform's text.
	Reason string
}

// reasonFor returns the notice as the reason for the end of an allocation.
func (n Notice) reasonFor(id rm.AgentID) string {
	text := "machine " + string(id) + " will be interrupted by its cloud at " + n.At.UTC().Format(time.RFC3339)
	if n.Reason != "" {
		text += " (" + n.Reason + ")"
	}
	return text
}

// Presence is the connection state of an agent.
//
//	──hello──▶ Connected ──link breaks──▶ Lost ──reconnect wait──▶ Gone
//	               ▲                       │ ▲
//	               └────────hello──────────┘ └── master restarts
//
// A lost agent keeps its containers and gets no new ones. The containers of an agent that is gone are
// given up; if the agent returns, it is ordered to kill them.
type Presence string

const (
	// Connected has a link.
	Connected Presence = "connected"
	// Lost has no link, but may come back in time.
	Lost Presence = "lost"
	// Gone did not come back in time.
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
	own     string // the address that it reports
	// machine identifies the machine of an agent; empty for agents that do not report it.
	machine string
	// interfaces maps the names of its network interfaces to addresses.
	interfaces map[string]string
	devices    []*apiv1.Device
	presence   Presence
	// since is when the presence began, registered when the agent first joined.
	since      time.Time
	registered time.Time
	// state is the operator's setting for the agent, slots those for single devices; a device that is
	// not in slots is enabled.
	state rm.Switch
	slots map[int]rm.Switch
	link  *link.Link
	// opensStreams reports that it understands the order to open a stream.
	opensStreams bool
	// notice is the latest notice of its machine's platform, or nil.
	notice *Notice
	// sick is why it cannot start containers, or nil.
	sick *Sickness
	// restrictions are the reasons why it cannot run some tasks.
	restrictions restrictions
	// retired reports that its machine will be removed: it gets no new work.
	retired bool
	// containers are the assigned containers that have not ended.
	containers map[rm.ContainerID]*container
}

// takesNothing reports whether the agent gets no new work although it is connected.
func (a *agent) takesNothing() bool {
	return a.state == rm.Drain || a.retired || a.notice != nil || a.sick != nil
}

// lostReason returns the reason why an agent did not come back.
func (a *agent) lostReason() string {
	if a.notice != nil && a.notice.Kind == Interruption {
		return a.notice.reasonFor(a.id)
	}
	return "agent " + string(a.id) + " was lost: it did not reconnect in time"
}

// setState changes the presence of an agent. It returns an error for a transition that is not in the
// table.
func (a *agent) setState(to Presence, now time.Time) error {
	if !slices.Contains(presences[a.presence], to) {
		return fmt.Errorf("cannot move agent %s from %s to %s: no such transition", a.id, a.presence, to)
	}
	a.presence, a.since = to, now
	return nil
}

// sameDevices reports whether two lists have the same devices. Brands may change with a driver;
// identities may not.
func sameDevices(a, b []*apiv1.Device) bool {
	return slices.EqualFunc(a, b, func(x, y *apiv1.Device) bool {
		return x.GetId() == y.GetId() && x.GetUuid() == y.GetUuid() && x.GetType() == y.GetType()
	})
}

// sendMessage sends m to the agent if it is connected. Everything that is lost here is repeated when the
// agent reconnects.
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

// Sickness is the reason why an agent cannot start containers. It keeps its running ones and gets no new
// work until it reports its recovery. It is not stored, because the agent repeats it in every hello.
type Sickness struct {
	// Lack is the exhausted resource of its machine: one of a few words.
	Lack string
	// Reason is the agent's description.
	Reason string
	Since  time.Time
}

// sicknessOf returns the reported sickness, or nil for a healthy agent.
func sicknessOf(h *agentv1.Health) *Sickness {
	if h.GetLack() == agentv1.Health_LACK_UNSPECIFIED {
		return nil
	}
	return &Sickness{
		Lack: lackName(h.GetLack()), Reason: excerpt.Of(h.GetReason()), Since: agentv1.Instant(h.GetSinceUs(), time.Now()),
	}
}

// lackName returns the name of a lack for people and metrics, or "other" for one that only later agents
// know.
func lackName(l agentv1.Health_Lack) string {
	if _, known := agentv1.Health_Lack_name[int32(l)]; !known {
		return "other"
	}
	return strings.ToLower(strings.TrimPrefix(l.String(), "LACK_"))
}

func (a *agent) hasSlot(slot int) bool {
	return slices.ContainsFunc(a.devices, func(d *apiv1.Device) bool { return int(d.GetId()) == slot })
}

// hasRoom reports whether the agent can now take a container with the given slots of a task with these
// needs. Without slots it reports whether fewer than maxAux zero-slot containers run there.
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

// slotSwitch returns the setting of one device.
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
