package cloudtest

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Fleet is an in-memory platform that launches machines. Pool returns the view of one resource
// pool, which implements cloud.Instances. The state of its machines is computed from its clock:
// there are no background goroutines.
//
// The knobs can be changed at any time through Set.
type Fleet struct {
	mu       sync.Mutex // guards the fields below
	knobs    Knobs
	now      func() time.Time
	offset   time.Duration
	machines []*machine
	tokens   map[string]promise
	refusals []*refusal
	calls    []Call
	schedule faults.Schedule
	litter   map[string][]string
}

// Knobs configures a Fleet. In the zero value, all transitions are immediate.
type Knobs struct {
	// Boot is the time for which a machine is starting.
	Boot time.Duration
	// Shutdown is the time for which a machine is stopping.
	Shutdown time.Duration
	// Forget is the time for which a terminated machine remains listed. EC2 takes about an hour;
	// zero removes it at once.
	Forget time.Duration
	// AppearLate is the delay until lists show a new machine, ChangeLate the delay until they show
	// a change of state.
	AppearLate, ChangeLate time.Duration
	// Most is the maximum number of live machines per offer. A launch is fulfilled in part up to
	// the limit, and fails once it is reached. Zero means no limit.
	Most int
	// Console returns the console output of a machine. Nil returns a fixed sentence.
	Console func(cloud.InstanceID) string
	// DenyConsole makes Console return a Denied error, as for a missing permission.
	DenyConsole bool
}

// machine is a launched machine. Its state is a function of these times.
type machine struct {
	cloud.Instance
	pool string
	// boot is its boot time. A negative value means that it never boots.
	boot time.Duration
	// ended is the time of its termination, or zero. Shutdown is the time that the termination
	// takes.
	ended    time.Time
	shutdown time.Duration
}

// promise records the launch and the machines of a token.
type promise struct {
	pool   string
	launch cloud.Launch
	ids    []cloud.InstanceID
}

// refusal makes some launches of an offer fail.
type refusal struct {
	offer cloud.Offer
	kind  cloud.Kind
	left  int
}

// Epoch returns the initial time of a Fleet without a clock.
func Epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// NewFleet returns a platform without machines. A nil clock starts at Epoch and moves with Advance.
// Inside of testing/synctest, use time.Now.
func NewFleet(k Knobs, clock func() time.Time) *Fleet {
	if clock == nil {
		clock = Epoch
	}
	return &Fleet{
		knobs: k, now: clock,
		tokens: map[string]promise{}, litter: map[string][]string{},
	}
}

// Set changes the knobs.
func (f *Fleet) Set(turn func(*Knobs)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	turn(&f.knobs)
}

// Advance moves the clock.
func (f *Fleet) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offset += d
}

// Now returns the platform's time.
func (f *Fleet) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.time()
}

func (f *Fleet) time() time.Time { return f.now().Add(f.offset) }

// Truth returns the current state of all machines that a pool has ever launched, independent of
// lists. An empty pool matches all pools.
func (f *Fleet) Truth(pool string) []cloud.Instance {
	return f.machinesIn(pool, func(cloud.InstanceState) bool { return true })
}

// Alive returns the machines of Truth that are billed: those that are not terminated.
func (f *Fleet) Alive(pool string) []cloud.Instance {
	return f.machinesIn(pool, func(s cloud.InstanceState) bool {
		return s == cloud.InstanceStarting || s == cloud.InstanceRunning
	})
}

// machinesIn returns the machines of Truth in certain states. It copies only these, because a
// simulated year has many machines.
func (f *Fleet) machinesIn(pool string, wanted func(cloud.InstanceState) bool) []cloud.Instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.time()
	var out []cloud.Instance
	for _, m := range f.machines {
		if pool != "" && m.pool != pool {
			continue
		}
		if state, reason := m.stateAt(now); wanted(state) {
			i := m.Instance
			i.State, i.Reason = state, reason
			out = append(out, i)
		}
	}
	return byID(out)
}

// End terminates a machine as the platform, with the platform's reason:
// "Server.SpotInstanceTermination", "Client.InstanceInitiatedShutdown".
func (f *Fleet) End(id cloud.InstanceID, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.machine(id); m != nil {
		m.end(f.time(), f.knobs.Shutdown, reason)
	}
}

// Reject terminates a launched machine as the platform, with the kind of the error and its reason:
// Quota and "Client.VolumeLimitExceeded".
func (f *Fleet) Reject(id cloud.InstanceID, kind cloud.Kind, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.machine(id); m != nil {
		m.end(f.time(), f.knobs.Shutdown, reason)
		m.Kind = kind
	}
}

// Hang prevents a starting machine from ever running.
func (f *Fleet) Hang(id cloud.InstanceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.machine(id); m != nil {
		m.boot = -1
	}
}

// Leave adds a resource of a pool that Sweep removes.
func (f *Fleet) Leave(pool, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.litter[pool] = append(f.litter[pool], what)
}

func (f *Fleet) machine(id cloud.InstanceID) *machine {
	i := slices.IndexFunc(f.machines, func(m *machine) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return f.machines[i]
}

// grant creates one machine.
func (f *Fleet) grant(pool string, l cloud.Launch) *machine {
	m := &machine{
		pool: pool, boot: f.knobs.Boot,
		Instance: cloud.Instance{
			ID:    cloud.InstanceID("i-" + zeroPad(len(f.machines)+1)),
			Offer: l.Offer, Zone: cmp.Or(l.Offer.Zone, "anywhere"), Token: l.Token, Launched: f.time(),
		},
	}
	f.machines = append(f.machines, m)
	return m
}

// zeroPad formats a number with leading zeros, so that the text order is the numeric order.
func zeroPad(n int) string {
	s := strconv.Itoa(n)
	return "0000000"[min(len(s), 7):] + s
}

// at returns the machine in its state at a time.
func (m *machine) at(now time.Time) cloud.Instance {
	i := m.Instance
	i.State, i.Reason = m.stateAt(now)
	return i
}

// stateAt returns the state of the machine at a time, and the reason.
func (m *machine) stateAt(now time.Time) (cloud.InstanceState, string) {
	switch {
	case !m.ended.IsZero() && !now.Before(m.ended.Add(m.shutdown)):
		return cloud.InstanceTerminated, m.Reason
	case !m.ended.IsZero() && !now.Before(m.ended):
		return cloud.InstanceStopping, m.Reason
	case m.boot >= 0 && !now.Before(m.Launched.Add(m.boot)):
		return cloud.InstanceRunning, ""
	}
	return cloud.InstanceStarting, ""
}

func (m *machine) end(now time.Time, shutdown time.Duration, reason string) {
	if m.ended.IsZero() {
		m.ended, m.shutdown, m.Reason = now, shutdown, reason
	}
}

func byID(all []cloud.Instance) []cloud.Instance {
	slices.SortFunc(all, func(a, b cloud.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
