package elastic_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/test/rest"
)

// Invariants: nothing waits forever while capacity and limits allow it to run, there are never more
// machines than the maximum nor for long fewer than the minimum, nothing is launched twice or without
// demand, and every machine ends after the load has.
func TestEveryHourOfAPool(t *testing.T) {
	t.Parallel()
	storms := rest.Choose(1, 4)
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(t)
		for range storms {
			s.storm = true
			s.pass(90 * time.Minute)
			s.storm = false
			s.cloud.Allow()
			s.cloud.Revive()
			s.pass(7 * time.Hour)
			for id, a := range s.tasks {
				if s.couldRun(a) {
					t.Fatalf("task %s (%d slots) still waits after hours without trouble, with %d machines of at most %d", id, a.Slots, len(s.cloud.Alive("p")), s.f.Limits.Max)
				}
				delete(s.tasks, id)
			}
		}
		s.pass(2 * time.Hour)
		if n := len(s.cloud.Alive("p")); n != s.f.Limits.Min || len(s.f.Machines) != n || len(s.f.Launches) != 0 {
			t.Fatalf("after the load has stopped: %d machines, %d known, %d launches open; want %d", n, len(s.f.Machines), len(s.f.Launches), s.f.Limits.Min)
		}
	})
}

// couldRun reports whether the pool may have enough machines for a task.
func (s *sim) couldRun(t *task) bool {
	return fewest(t.Slots, t.SingleNode) <= s.f.Limits.Max
}

// fewest returns the smallest number of machines of eight slots that a task can be split over.
func fewest(slots int, single bool) int {
	for m := 1; m <= max(slots, 1); m++ {
		if slots%m == 0 && slots/m <= 8 && (m == 1 || !single) {
			return m
		}
	}
	return 1 << 20
}

// step runs one scheduling pass and one turn of the launcher.
func (s *sim) step() {
	scene := pool.Pool{Scheduler: pool.Scheduler{Fitting: pool.Best, DefaultPriority: pool.DefaultPriority}, MaxAux: 3}
	room := s.f.Limits.Max
	for _, m := range s.f.Machines {
		if m.State == elastic.Joined {
			room--
		}
	}
	scene.Room = []pool.Shape{{Slots: 8, Count: max(room, 0)}}
	for _, id := range slices.Sorted(maps.Keys(s.links)) {
		known, lost := s.seen(s.links[id])
		if !known {
			continue
		}
		a := pool.Agent{ID: pool.AgentID(id), Enabled: !lost, Lost: lost, Draining: s.retired[id]}
		for i := range 8 {
			a.Slots = append(a.Slots, pool.Slot{ID: i, Enabled: true})
		}
		scene.Agents = append(scene.Agents, a)
	}
	for _, t := range s.tasks {
		scene.Allocations = append(scene.Allocations, t.Allocation)
	}
	d := pool.Decide(scene, s.now)
	for _, st := range d.Start {
		t := s.tasks[st.Allocation]
		t.State, t.Placement, t.ends = pool.Running, st.Placement, s.now.Add(t.takes)
	}
	s.observe(scene, d)
	s.act(elastic.Decide(s.f, s.now))
}

// observe passes the state after the scheduling pass to the fleet.
func (s *sim) observe(scene pool.Pool, d pool.Decision) {
	used, aux, busy := map[pool.AgentID]int{}, map[pool.AgentID]int{}, map[pool.AgentID]bool{}
	for _, t := range s.tasks {
		for _, sh := range t.Placement {
			used[sh.Agent] += len(sh.Slots)
			busy[sh.Agent] = true
			if len(sh.Slots) == 0 {
				aux[sh.Agent]++
			}
		}
	}
	var agents []elastic.Agent
	for _, a := range scene.Agents {
		e := elastic.Agent{ID: cloud.InstanceID(a.ID), Slots: 8, Busy: busy[a.ID], Lost: a.Lost}
		if !a.Draining {
			e.Free, e.Aux = 8-used[a.ID], 3-aux[a.ID]
		}
		agents = append(agents, e)
	}
	var gangs []elastic.Gang
	for _, w := range d.Waiting {
		if w.Reason == pool.ForSlots || w.Reason == pool.ForPriority {
			t := s.tasks[w.Allocation]
			gangs = append(gangs, elastic.Gang{ID: string(t.ID), Slots: t.Slots, Single: t.SingleNode, JobRoom: -1})
		}
	}
	s.f.Observe(agents, gangs, s.now)
}

// act carries out a decision as the launcher does.
func (s *sim) act(d elastic.Decision) {
	for _, id := range d.Keep {
		s.must(s.f.Move(id, elastic.Joined, elastic.Why{}, s.now))
		delete(s.retired, id)
	}
	for _, g := range d.Drain {
		s.retired[g.ID] = true
		s.must(s.f.Move(g.ID, elastic.Draining, g.Why, s.now))
	}
	for _, g := range d.Terminate {
		s.retired[g.ID] = true
		s.must(s.f.Move(g.ID, elastic.Terminating, g.Why, s.now))
	}
	s.kill()
	s.justified(d)
	for _, ask := range d.Launch {
		s.count++
		token := fmt.Sprintf("token %d", s.count)
		s.f.Launches[token] = &elastic.Launch{Token: token, Offer: ask.Offer, Count: ask.Count, At: s.now}
	}
	for _, token := range slices.Sorted(maps.Keys(s.f.Launches)) {
		if !s.open[token] && !s.retry[token].After(s.now) {
			s.launch(*s.f.Launches[token])
		}
	}
	if next := s.f.NextList(s.listed, s.now); !next.After(s.now) && !s.listing {
		s.listing = true
		asked := s.now
		list, err := s.pool.List(s.t.Context())
		s.must(err)
		s.later(20, func() {
			s.listing, s.listed = false, s.now
			s.f.See(list, asked, s.now)
		})
	}
}

func (s *sim) must(err error) {
	if err != nil {
		s.t.Fatalf("a decision cannot be carried out: %v", err)
	}
}

// justified fails the test if machines are launched without demand.
func (s *sim) justified(d elastic.Decision) {
	need := 0
	for _, g := range s.f.Waiting {
		need += fewest(g.Slots, g.Single)
	}
	for _, ask := range d.Launch {
		if ask.Count > max(need, s.f.Limits.Min) {
			s.t.Fatalf("%d machines are launched for %d gangs that need at most %d", ask.Count, len(s.f.Waiting), need)
		}
	}
}

func (s *sim) kill() {
	for _, id := range slices.Sorted(maps.Keys(s.f.Machines)) {
		m := s.f.Machines[id]
		if m.State != elastic.Terminating || !m.Accepted.IsZero() {
			continue
		}
		if err := s.pool.Terminate(s.t.Context(), []cloud.InstanceID{id}); err == nil {
			m.Accepted = s.now
			s.requeue(id)
			delete(s.links, id)
		}
	}
}

func (s *sim) launch(l elastic.Launch) {
	s.open[l.Token] = true
	list, err := s.pool.Launch(s.t.Context(), cloud.Launch{Token: l.Token, Offer: l.Offer, Count: l.Count})
	s.later(30, func() {
		delete(s.open, l.Token)
		if err == nil {
			s.f.Granted(l.Token, list, s.now)
			s.f.Grant(l.Offer)
			return
		}
		// Not the kind of the active refusal, which may be another call's.
		kind := cloud.KindOf(err)
		r := s.f.Refuse(l.Offer, elastic.Refusal{Kind: kind, Text: err.Error()}, s.now)
		if kind == cloud.Ambiguous || kind == cloud.Unknown {
			s.retry[l.Token] = r.Until
			return
		}
		delete(s.f.Launches, l.Token)
	})
}

// check verifies the invariants that hold at every moment.
func (s *sim) check() {
	alive := s.cloud.Alive("p")
	if len(alive) > s.f.Limits.Max {
		s.t.Fatalf("%d machines, and at most %d are allowed", len(alive), s.f.Limits.Max)
	}
	s.checkLaunches()
	if s.storm || len(alive) >= s.f.Limits.Min {
		s.below = time.Time{}
		return
	}
	if s.below.IsZero() {
		s.below = s.now
	}
	// A storm may leave a back-off of at most a quarter of an hour.
	if d := s.now.Sub(s.below); d > 25*time.Minute {
		s.t.Fatalf("%d machines for %v, and at least %d are wanted", len(alive), d, s.f.Limits.Min)
	}
}

// checkLaunches fails the test if an open launch has given more machines than requested.
func (s *sim) checkLaunches() {
	if len(s.f.Launches) == 0 {
		return
	}
	byToken := make(map[string]int)
	for _, i := range s.cloud.Truth("p") {
		byToken[i.Token]++
	}
	for token, l := range s.f.Launches {
		if n := byToken[token]; n > l.Count {
			s.t.Fatalf("launch %s gave %d machines, and %d were asked for", token, n, l.Count)
		}
	}
}
