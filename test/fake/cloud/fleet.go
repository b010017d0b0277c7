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

// Fleet is a platform that launches machines, in memory. Pool gives the view of
// one resource pool, which is a cloud.Instances. What its machines do follows
// from its clock alone: nothing runs in the background.
//
// The knobs may be turned at any time through Set.
type Fleet struct {
	mu       sync.Mutex // guards what follows
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

// Knobs are the manners of a Fleet. The zero value is a platform that does
// everything at once.
type Knobs struct {
	// Boot is how long a machine is starting before it runs.
	Boot time.Duration
	// Shutdown is how long a machine is stopping before it is terminated.
	Shutdown time.Duration
	// Forget is how long a terminated machine is still listed. EC2 takes about
	// an hour; zero forgets it at once.
	Forget time.Duration
	// AppearLate is how long lists do not show a new machine, ChangeLate how
	// long they show a machine in the state it was in.
	AppearLate, ChangeLate time.Duration
	// Most is how many machines of one offer may be alive at a time; a launch
	// is granted in part up to it and refused beyond. Zero is no limit.
	Most int
	// Console is what a machine wrote while it booted; nil is a sentence.
	Console func(cloud.InstanceID) string
	// DenyConsole refuses to show it, as a role without the permission is.
	DenyConsole bool
}

// machine is one that was granted. Its state is a function of these times.
type machine struct {
	cloud.Instance
	pool string
	// boot is how long this one takes until it runs; negative is for ever.
	boot time.Duration
	// ended is when it was ended, zero while it runs; shutdown is how long that
	// takes.
	ended    time.Time
	shutdown time.Duration
}

// promise is what a token stands for.
type promise struct {
	pool   string
	launch cloud.Launch
	ids    []cloud.InstanceID
}

// refusal has some launches of an offer fail.
type refusal struct {
	offer cloud.Offer
	kind  cloud.Kind
	left  int
}

// Epoch is where the clock of a Fleet starts that was given none.
func Epoch() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// NewFleet returns a platform without machines. A nil clock stands at Epoch and
// moves with Advance; time.Now is right inside of testing/synctest.
func NewFleet(k Knobs, clock func() time.Time) *Fleet {
	if clock == nil {
		clock = Epoch
	}
	return &Fleet{
		knobs: k, now: clock,
		tokens: map[string]promise{}, litter: map[string][]string{},
	}
}

// Set turns knobs.
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

// Now is the platform's time.
func (f *Fleet) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.time()
}

func (f *Fleet) time() time.Time { return f.now().Add(f.offset) }

// Truth is every machine of a pool that was ever granted, as it is at this
// moment, whatever lists show. An empty pool stands for all.
func (f *Fleet) Truth(pool string) []cloud.Instance {
	return f.machinesIn(pool, func(cloud.InstanceState) bool { return true })
}

// Alive is the part of Truth that costs money: machines that have not been
// ended.
func (f *Fleet) Alive(pool string) []cloud.Instance {
	return f.machinesIn(pool, func(s cloud.InstanceState) bool {
		return s == cloud.InstanceStarting || s == cloud.InstanceRunning
	})
}

// machinesIn is what Truth has in certain states. Only these are copied: a year of machines
// is a long list.
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

// End has the platform itself end a machine, with a reason in its words:
// "Server.SpotInstanceTermination", "Client.InstanceInitiatedShutdown".
func (f *Fleet) End(id cloud.InstanceID, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.machine(id); m != nil {
		m.end(f.time(), f.knobs.Shutdown, reason)
	}
}

// Reject has the platform end a machine that it has granted, with what that
// amounts to: Quota and "Client.VolumeLimitExceeded".
func (f *Fleet) Reject(id cloud.InstanceID, kind cloud.Kind, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.machine(id); m != nil {
		m.end(f.time(), f.knobs.Shutdown, reason)
		m.Kind = kind
	}
}

// Hang keeps a machine that is starting from ever running.
func (f *Fleet) Hang(id cloud.InstanceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.machine(id); m != nil {
		m.boot = -1
	}
}

// Leave makes something of a pool's that Sweep finds.
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

// grant makes one machine.
func (f *Fleet) grant(pool string, l cloud.Launch) *machine {
	m := &machine{
		pool: pool, boot: f.knobs.Boot,
		Instance: cloud.Instance{
			ID:    cloud.InstanceID("i-" + padded(len(f.machines)+1)),
			Offer: l.Offer, Zone: cmp.Or(l.Offer.Zone, "anywhere"), Token: l.Token, Launched: f.time(),
		},
	}
	f.machines = append(f.machines, m)
	return m
}

// padded sorts as it counts.
func padded(n int) string {
	s := strconv.Itoa(n)
	return "0000000"[min(len(s), 7):] + s
}

// at is the machine as it is at a time after it was granted.
func (m *machine) at(now time.Time) cloud.Instance {
	i := m.Instance
	i.State, i.Reason = m.stateAt(now)
	return i
}

// stateAt is the state of the machine at a time after it was granted, and the reason of that.
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
