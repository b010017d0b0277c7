package elastic_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// sim simulates a pool over hours: tasks come and end, machines boot, hang and are interrupted,
// connections break, launches are refused, answers and lists are late. It depends on nothing but its
// clock and the values that rapid draws.
type sim struct {
	t     *rapid.T
	f     *elastic.Fleet
	cloud *cloudtest.Fleet
	pool  *cloudtest.FleetPool

	now     time.Time
	storm   bool
	tasks   map[pool.AllocationID]*task
	links   map[cloud.InstanceID]*link
	retired map[cloud.InstanceID]bool
	pending []pending
	retry   map[string]time.Time
	open    map[string]bool
	listed  time.Time
	listing bool
	count   int
	below   time.Time // since when there are fewer than Min
}

type task struct {
	pool.Allocation
	takes time.Duration
	ends  time.Time
}

// link is the agent of a machine.
type link struct {
	lostAt time.Time // zero while it is connected
	backAt time.Time
}

// pending is a delayed answer.
type pending struct {
	at time.Time
	do func()
}

func newSim(t *rapid.T) *sim {
	seconds := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
	}
	s := &sim{
		t: t, now: t0(), tasks: make(map[pool.AllocationID]*task), links: make(map[cloud.InstanceID]*link),
		retired: make(map[cloud.InstanceID]bool), retry: make(map[string]time.Time), open: make(map[string]bool),
	}
	s.cloud = cloudtest.NewFleet(cloudtest.Knobs{
		Boot: seconds("boot", 600), Shutdown: seconds("shutdown", 120), Forget: seconds("forget", 3600),
		AppearLate: seconds("appear late", 60), ChangeLate: seconds("change late", 60),
	}, func() time.Time { return s.now })
	s.pool = s.cloud.Pool("p")
	most := rapid.IntRange(2, 6).Draw(t, "max")
	s.f = elastic.New(elastic.Limits{
		Min: rapid.IntRange(0, 1).Draw(t, "min"), Max: most,
		MaxIdle: 5*time.Minute + seconds("idle", 1200), MaxStarting: 15*time.Minute + seconds("starting", 600),
	}, []cloud.Offer{offer("a"), offer("b")}, elastic.Shape{Slots: 8, Aux: 3})
	return s
}

// pass advances the clock by d in steps of a few seconds.
func (s *sim) pass(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		most := 60
		if !s.storm {
			most = 240
		}
		s.now = s.now.Add(time.Duration(rapid.IntRange(1, most).Draw(s.t, "step")) * time.Second)
		if s.storm {
			s.trouble()
		}
		s.answers()
		s.agents()
		s.end()
		s.step()
		s.check()
	}
}

// trouble causes a random fault of a storm.
func (s *sim) trouble() {
	alive := s.cloud.Alive("p")
	pick := func() cloud.InstanceID { return alive[rapid.IntRange(0, len(alive)-1).Draw(s.t, "which")].ID }
	switch rapid.IntRange(0, 39).Draw(s.t, "what") {
	case 0, 1, 2:
		s.submit()
	case 3:
		kinds := []cloud.Kind{cloud.NoCapacity, cloud.Quota, cloud.Denied, cloud.Invalid, cloud.RateLimited, cloud.Unavailable}
		s.cloud.Refuse(cloud.Offer{}, rapid.SampledFrom(kinds).Draw(s.t, "kind"), rapid.IntRange(1, 3).Draw(s.t, "times"))
	case 4:
		s.cloud.FailAt(1, rapid.SampledFrom([]faults.Fault{faults.LoseReply, faults.LoseRequest}).Draw(s.t, "fault"))
	case 5:
		if len(alive) > 0 {
			s.cloud.End(pick(), "Server.SpotInstanceTermination")
		}
	case 6:
		if len(alive) > 0 {
			s.cloud.Hang(pick())
		}
	case 7:
		if len(alive) == 0 {
			return
		}
		if l := s.links[pick()]; l != nil && l.lostAt.IsZero() {
			l.lostAt = s.now
			l.backAt = s.now.Add(time.Duration(rapid.IntRange(1, 900).Draw(s.t, "away")) * time.Second)
		}
	}
}

func (s *sim) submit() {
	s.count++
	id := pool.AllocationID(fmt.Sprintf("t%03d", s.count))
	s.tasks[id] = &task{
		Allocation: pool.Allocation{
			ID: id, Job: pool.JobID(fmt.Sprintf("j%d", s.count%7)), Priority: 42, Position: pool.Position(s.now.UnixNano()),
			Slots:      rapid.SampledFrom([]int{0, 0, 1, 2, 4, 8, 16}).Draw(s.t, "slots"),
			SingleNode: rapid.Bool().Draw(s.t, "single"), Submitted: s.now, State: pool.Pending,
		},
		takes: time.Duration(rapid.IntRange(5, 900).Draw(s.t, "takes")) * time.Second,
	}
	s.tasks[id].SingleNode = s.tasks[id].SingleNode && s.tasks[id].Slots <= 8
}

func (s *sim) answers() {
	for {
		i := slices.IndexFunc(s.pending, func(p pending) bool { return !p.at.After(s.now) })
		if i < 0 {
			return
		}
		do := s.pending[i].do
		s.pending = slices.Delete(s.pending, i, i+1)
		do()
	}
}

// later schedules an action after at most so many seconds.
func (s *sim) later(most int, do func()) {
	s.pending = append(s.pending, pending{s.now.Add(time.Duration(rapid.IntRange(0, most).Draw(s.t, "late")) * time.Second), do})
}

// reconnectWait is the time that a lost agent is kept.
const reconnectWait = 25 * time.Second

// agents lets running machines join, and removes agents that have been away too long.
func (s *sim) agents() {
	runs := make(map[cloud.InstanceID]bool)
	for _, i := range s.cloud.Alive("p") {
		m := s.f.Machines[i.ID]
		if i.State != cloud.InstanceRunning {
			continue
		}
		runs[i.ID] = true
		if s.links[i.ID] == nil && m != nil && m.State != elastic.Terminating {
			s.links[i.ID] = &link{}
		}
	}
	for id, l := range s.links {
		switch {
		case !runs[id] && l.lostAt.IsZero():
			l.lostAt, l.backAt = s.now, s.now.Add(1000*time.Hour)
		case !l.lostAt.IsZero() && !l.backAt.After(s.now) && runs[id]:
			l.lostAt = time.Time{}
		}
		if !l.lostAt.IsZero() && s.now.Sub(l.lostAt) > reconnectWait {
			s.requeue(id)
			if !runs[id] || l.backAt.After(s.now) {
				delete(s.links, id)
			}
			if runs[id] {
				back := l.backAt
				s.pending = append(s.pending, pending{back, func() {}})
				s.links[id] = &link{lostAt: l.lostAt, backAt: back}
			}
		}
	}
}

// seen reports whether the scheduler knows the agent, and whether it considers it lost.
func (s *sim) seen(l *link) (known, lost bool) {
	if l.lostAt.IsZero() {
		return true, false
	}
	return s.now.Sub(l.lostAt) <= reconnectWait, true
}

func (s *sim) requeue(id cloud.InstanceID) {
	for _, t := range s.tasks {
		if slices.ContainsFunc(t.Placement, func(sh pool.Share) bool { return sh.Agent == pool.AgentID(id) }) {
			t.State, t.Placement = pool.Pending, nil
		}
	}
}

func (s *sim) end() {
	for id, t := range s.tasks {
		if t.State == pool.Running && !t.ends.After(s.now) {
			delete(s.tasks, id)
		}
	}
}
