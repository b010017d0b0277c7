package elastic_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

func t0() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func limits() elastic.Limits {
	return elastic.Limits{Max: 5, MaxIdle: 20 * time.Minute, MaxStarting: 20 * time.Minute}
}

func offer(s string) cloud.Offer { return cloud.Offer{Type: s, Price: cloud.OnDemand} }

// scene builds a fleet of eight-slot machines, step by step.
type scene struct {
	f      *elastic.Fleet
	agents []elastic.Agent
	gangs  []elastic.Gang
	now    time.Time
}

func at(l elastic.Limits) *scene {
	return &scene{f: elastic.New(l, []cloud.Offer{offer("a"), offer("b")}, elastic.Shape{Slots: 8, Aux: 100}), now: t0()}
}

// launched adds machines that have not joined.
func (s *scene) launched(ids ...cloud.InstanceID) *scene {
	for _, id := range ids {
		s.f.Launches[string(id)] = &elastic.Launch{Token: string(id), Offer: offer("a"), Count: 1, At: s.now}
		s.f.Granted(string(id), []cloud.Instance{{ID: id, State: cloud.InstanceRunning}}, s.now)
	}
	return s
}

// joined adds machines with agents that have the given number of free slots.
func (s *scene) joined(free int, ids ...cloud.InstanceID) *scene {
	s.launched(ids...)
	for _, id := range ids {
		s.agents = append(s.agents, elastic.Agent{ID: id, Slots: 8, Free: free, Aux: 100, Busy: free < 8})
	}
	return s.observe()
}

func (s *scene) observe() *scene {
	s.f.Observe(slices.Clone(s.agents), slices.Clone(s.gangs), s.now)
	return s
}

// waits adds gangs of these sizes.
func (s *scene) waits(slots ...int) *scene {
	for _, n := range slots {
		s.gangs = append(s.gangs, elastic.Gang{ID: fmt.Sprintf("g%d", len(s.gangs)), Slots: n, JobRoom: -1})
	}
	return s.observe()
}

func (s *scene) gang(g elastic.Gang) *scene {
	s.gangs = append(s.gangs, g)
	return s.observe()
}

func (s *scene) later(d time.Duration) *scene {
	s.now = s.now.Add(d)
	return s.observe()
}

// agent changes one agent; a nil change removes it.
func (s *scene) agent(id cloud.InstanceID, change func(*elastic.Agent)) *scene {
	i := slices.IndexFunc(s.agents, func(a elastic.Agent) bool { return a.ID == id })
	if change == nil {
		s.agents = slices.Delete(s.agents, i, i+1)
	} else {
		change(&s.agents[i])
	}
	return s.observe()
}

func (s *scene) list(list ...cloud.Instance) *scene {
	s.f.See(list, s.now, s.now)
	return s.observe()
}

func (s *scene) draining(id cloud.InstanceID, c elastic.Cause) *scene {
	if err := s.f.Move(id, elastic.Draining, elastic.Why{Cause: c, Reason: "because"}, s.now); err != nil {
		panic(err)
	}
	return s
}

func (s *scene) open(token string, n int) *scene {
	s.f.Launches[token] = &elastic.Launch{Token: token, Offer: offer("a"), Count: n, At: s.now}
	return s
}

func (s *scene) refused(o string, k cloud.Kind) *scene {
	s.f.Refuse(offer(o), elastic.Refusal{Kind: k, Text: "no"}, s.now)
	return s
}

func with(change func(*elastic.Limits)) elastic.Limits {
	l := limits()
	change(&l)
	return l
}

// short formats a decision in one line.
func short(d elastic.Decision) string {
	s := ""
	for _, l := range d.Launch {
		s += fmt.Sprintf("launch %d %s; ", l.Count, l.Offer.Type)
	}
	for _, g := range d.Drain {
		s += fmt.Sprintf("drain %s (%s); ", g.ID, g.Why.Cause)
	}
	for _, g := range d.Terminate {
		s += fmt.Sprintf("terminate %s (%s); ", g.ID, g.Why.Cause)
	}
	for _, id := range d.Keep {
		s += fmt.Sprintf("keep %s; ", id)
	}
	for _, id := range d.Kill {
		s += fmt.Sprintf("kill %s; ", id)
	}
	for _, id := range d.Fail {
		s += fmt.Sprintf("fail %s; ", id)
	}
	return s
}

func TestDecide(t *testing.T) {
	t.Parallel()
	minute := time.Minute
	one := with(func(l *elastic.Limits) { l.Min, l.Max = 1, 1 })
	bare := func(a *elastic.Agent) { a.Slots, a.Free = 0, 0 }
	half := func(a *elastic.Agent) { a.Slots, a.Free = 4, 4 }
	for _, tc := range []struct {
		name string
		s    *scene
		want string
	}{
		{"nothing waits and there is nothing", at(limits()), ""},
		{"one task wants one machine", at(limits()).waits(8), "launch 1 a; "},
		{"small tasks share a machine", at(limits()).waits(2, 2, 4), "launch 1 a; "},
		{"a gang is launched whole", at(limits()).waits(24), "launch 3 a; "},
		{"free slots are used before a launch", at(limits()).joined(4, "m1").waits(4), ""},
		{"free slots of several machines do not add up for a single-node task", at(limits()).joined(4, "m1", "m2").gang(elastic.Gang{ID: "g", Slots: 8, Single: true, JobRoom: -1}), "launch 1 a; "},
		{"free slots of several machines add up for a gang", at(limits()).joined(4, "m1", "m2").waits(8), ""},
		{"starting machines count", at(limits()).launched("m1").waits(8), ""},
		{"requested machines count", at(limits()).open("t", 2).waits(16), ""},
		{"a requested and listed machine counts once", at(limits()).open("t", 2).list(cloud.Instance{ID: "i1", Token: "t", State: cloud.InstanceStarting}).waits(24), "launch 1 a; "},
		{"only missing machines are launched", at(limits()).launched("m1").joined(8, "m2").waits(24), "launch 1 a; "},
		{"never above the maximum", at(limits()).waits(8, 8, 8, 8, 8, 8, 8), "launch 5 a; "},
		{"a gang that cannot be whole launches nothing", at(limits()).joined(0, "m1").waits(40), ""},
		{"a gang that cannot be whole leaves the room to others", at(limits()).joined(0, "m1").waits(40, 8), "launch 1 a; "},
		{"a size that no machines share equally is left alone", at(limits()).waits(9*11 + 2), ""},
		{"a gang of nine is three threes", at(limits()).waits(9), "launch 3 a; "},
		{"an excluded agent is no room", at(limits()).joined(8, "m1").gang(elastic.Gang{ID: "g", Slots: 8, Exclude: []cloud.InstanceID{"m1"}, JobRoom: -1}), "launch 1 a; "},
		{"slots that are promised need no machine", at(limits()).joined(8, "m1").gang(elastic.Gang{ID: "g", Slots: 8, Promised: true, JobRoom: -1}), ""},
		{"slots that are promised are taken", at(limits()).joined(8, "m1").gang(elastic.Gang{ID: "g", Slots: 8, Promised: true, JobRoom: -1}).waits(8), "launch 1 a; "},
		{"a promise that cannot be packed launches nothing", at(limits()).gang(elastic.Gang{ID: "g", Slots: 8, Promised: true, JobRoom: -1}), ""},
		{"a job is held to its slots", at(limits()).gang(elastic.Gang{ID: "g", Slots: 8, Job: "j", JobRoom: 8}).gang(elastic.Gang{ID: "h", Slots: 8, Job: "j", JobRoom: 8}), "launch 1 a; "},
		{"zero-slot tasks want a machine too", at(limits()).waits(0, 0), "launch 1 a; "},
		{"zero-slot tasks come on top of slotted ones, on the same machines", at(limits()).waits(8, 0), "launch 1 a; "},
		{"more zero-slot tasks than places want another machine", at(limits()).waits(append([]int{8}, make([]int, 101)...)...), "launch 2 a; "},
		{"zero-slot tasks find no room where there are no places", func() *scene {
			s := at(limits())
			s.f.Shape.Aux = 0
			return s.waits(0)
		}(), ""},
		{"the minimum is kept without demand", at(with(func(l *elastic.Limits) { l.Min = 2 })), "launch 2 a; "},
		{"starting machines count towards the minimum", at(with(func(l *elastic.Limits) { l.Min = 2 })).launched("m1"), "launch 1 a; "},
		{"the minimum does not add to demand", at(with(func(l *elastic.Limits) { l.Min = 2 })).waits(8), "launch 2 a; "},

		{"idle long enough", at(limits()).joined(8, "m1").later(20 * minute), "drain m1 (idle); "},
		{"not idle long enough", at(limits()).joined(8, "m1").later(20*minute - 1), ""},
		{"the idle time restarts after work", at(limits()).joined(8, "m1").later(19*minute).
			agent("m1", func(a *elastic.Agent) { a.Busy = true }).later(minute).
			agent("m1", func(a *elastic.Agent) { a.Busy = false }).later(19 * minute), ""},
		{"idle but needed", at(limits()).joined(8, "m1").later(20 * minute).waits(8), ""},
		{"idle and needed for a gang whose other machine starts", at(limits()).joined(8, "m1").later(20 * minute).launched("m2").waits(16), ""},
		{"idle, and what waits can never use it", at(with(func(l *elastic.Limits) { l.Max = 1 })).joined(8, "m1").later(20 * minute).waits(16), "drain m1 (idle); "},
		{"idle but at the minimum", at(with(func(l *elastic.Limits) { l.Min = 1 })).joined(8, "m1").later(time.Hour), ""},
		{"without its devices it is not kept for the minimum", at(one).joined(8, "m1").agent("m1", bare).later(20 * minute), "drain m1 (idle); "},
		{"without some of them it is", at(one).joined(8, "m1").agent("m1", half).later(20 * minute), ""},
		{"without some of them, and in the way of what waits", at(one).joined(8, "m1").agent("m1", half).waits(8).later(20 * minute), "drain m1 (idle); "},
		{"what nothing can use goes first", at(with(func(l *elastic.Limits) { l.Min = 1 })).joined(8, "m1").later(minute).joined(8, "m2").agent("m2", bare).later(time.Hour), "drain m2 (idle); "},
		{"of two idle ones the longer idle goes", at(with(func(l *elastic.Limits) { l.Min = 1 })).joined(8, "m2").later(minute).joined(8, "m1").later(time.Hour), "drain m2 (idle); "},
		{"of two alike the smaller id goes", at(with(func(l *elastic.Limits) { l.Min = 1 })).joined(8, "m2", "m1").later(time.Hour), "drain m1 (idle); "},
		{"a lost link is not a free slot to be replaced", at(limits()).joined(8, "m1").agent("m1", func(a *elastic.Agent) { a.Lost = true }).waits(8), ""},

		{"drained and empty", at(limits()).joined(8, "m1").draining("m1", elastic.CauseIdle), "terminate m1 (idle); "},
		{"drained for idleness and has got work", at(limits()).joined(4, "m1").draining("m1", elastic.CauseIdle), "keep m1; "},
		{"drained and gone", at(limits()).joined(4, "m1").draining("m1", elastic.CauseSurplus).agent("m1", nil), "terminate m1 (over-max); "},
		{"drained as one too many, and busy", at(with(func(l *elastic.Limits) { l.Max = 1 })).joined(4, "m1", "m2").draining("m1", elastic.CauseSurplus), ""},
		{"drained as one too many, and the maximum was raised", at(limits()).joined(4, "m1", "m2").draining("m1", elastic.CauseSurplus), "keep m1; "},
		{"what drains is no room for what waits", at(with(func(l *elastic.Limits) { l.Max = 2 })).joined(4, "m1", "m2", "m3").draining("m1", elastic.CauseSurplus).waits(4), ""},

		{"never joined", at(limits()).launched("m1").later(20 * minute), "terminate m1 (never-joined); "},
		{"never joined, and is replaced in the next decision", at(limits()).launched("m1").waits(8).later(20 * minute), "terminate m1 (never-joined); "},
		{"still starting", at(limits()).launched("m1").later(20*minute - 1), ""},
		{"its agent has gone for long", at(limits()).joined(8, "m1").agent("m1", nil).later(10 * minute), "terminate m1 (lost); "},
		{"its agent has gone", at(limits()).joined(8, "m1").agent("m1", nil).later(10*minute - 1), ""},
		{"its agent has gone, and tasks wait", at(limits()).joined(8, "m1").agent("m1", nil).waits(8), "launch 1 a; "},
		{"its agent has gone, and tasks wait at the maximum", at(with(func(l *elastic.Limits) { l.Max = 1 })).joined(8, "m1").agent("m1", nil).waits(8), ""},
		{"stopped from outside", at(limits()).joined(8, "m1").list(cloud.Instance{ID: "m1", State: cloud.InstanceStopped}), "kill m1; "},
		{"interrupted", at(limits()).joined(0, "m1").list(cloud.Instance{ID: "m1", State: cloud.InstanceTerminated}), ""},

		{"too many: starting ones go first, the newest of them", at(with(func(l *elastic.Limits) { l.Max = 2 })).launched("m1").later(minute).launched("m2").joined(8, "m3"), "terminate m2 (over-max); "},
		{"too many: idle before lost before busy", at(with(func(l *elastic.Limits) { l.Max = 1 })).joined(4, "m1").joined(8, "m2").joined(8, "m3").agent("m3", nil), "drain m2 (over-max); terminate m3 (over-max); "},
		{"too many and all busy: the newest is drained", at(with(func(l *elastic.Limits) { l.Max = 1 })).joined(4, "m1").later(minute).joined(4, "m2"), "drain m2 (over-max); "},

		{"no capacity tries the next offer", at(limits()).waits(8).refused("a", cloud.NoCapacity), "launch 1 b; "},
		{"a wrong offer tries the next one", at(limits()).waits(8).refused("a", cloud.Invalid), "launch 1 b; "},
		{"no offer is left", at(limits()).waits(8).refused("a", cloud.NoCapacity).refused("b", cloud.NoCapacity), ""},
		{"the first offer again when it has cooled off", at(limits()).waits(8).refused("a", cloud.NoCapacity).later(minute), "launch 1 a; "},
		{"a quota error applies to the price class", at(limits()).waits(8).refused("a", cloud.Quota), ""},
		{"a missing permission applies to all offers", at(limits()).waits(8).refused("a", cloud.Denied), ""},
		{"a throttled call is tried again soon", at(limits()).waits(8).refused("a", cloud.RateLimited).later(time.Second), "launch 1 a; "},
		{"eight calls may be open", at(with(func(l *elastic.Limits) { l.Max = 100 })).
			open("1", 1).open("2", 1).open("3", 1).open("4", 1).open("5", 1).open("6", 1).open("7", 1).open("8", 1).waits(80), ""},

		{"a launch error fails tasks that are larger than the pool", at(with(func(l *elastic.Limits) { l.ErrorTimeout = 5 * minute })).joined(0, "m1").waits(8, 16).refused("a", cloud.Denied), "fail g1; "},
		{"a launch error shows, and nothing is launched", at(with(func(l *elastic.Limits) { l.ErrorTimeout = 5 * minute })).waits(8).refused("a", cloud.Denied).later(4 * minute), "fail g0; "},
		{"a launch error is over", at(with(func(l *elastic.Limits) { l.ErrorTimeout = 5 * minute })).waits(8).refused("a", cloud.Denied).later(5 * minute), "launch 1 a; "},
		{"a launch error is tolerated once", at(with(func(l *elastic.Limits) { l.ErrorTimeout, l.ErrorRetries = 5*minute, 1 })).waits(8).refused("a", cloud.Denied), ""},
		{"a launch error is not tolerated twice", at(with(func(l *elastic.Limits) { l.ErrorTimeout, l.ErrorRetries = 5*minute, 1 })).waits(8).refused("a", cloud.Denied).later(minute).refused("a", cloud.Denied), "fail g0; "},
		{"no capacity is no launch error while there is another offer", at(with(func(l *elastic.Limits) { l.ErrorTimeout = 5 * minute })).waits(8).refused("a", cloud.NoCapacity), "launch 1 b; "},
		{"a throttled call is no launch error", at(with(func(l *elastic.Limits) { l.ErrorTimeout = 5 * minute })).waits(8).refused("a", cloud.RateLimited), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := short(elastic.Decide(tc.s.f, tc.s.now))
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got −, want +:\n%s", d)
			}
		})
	}
}

func TestFatesExplainWaitingTasks(t *testing.T) {
	t.Parallel()
	s := at(with(func(l *elastic.Limits) { l.Max = 3 })).launched("m1").joined(8, "m2").
		waits(4, 4, 8, 8, 8, 11)
	d := elastic.Decide(s.f, s.now)
	want := []elastic.Fate{elastic.Fits, elastic.Fits, elastic.Coming, elastic.Wanted, elastic.AtMax, elastic.AtMax}
	if diff := cmp.Diff(d.Fates, want); diff != "" {
		t.Errorf("got −, want +:\n%s", diff)
	}
	s.refused("a", cloud.Denied)
	d = elastic.Decide(s.f, s.now)
	got := elastic.Explain(d.Fates[3], d, s.f.Limits) + "; " + d.Standing.Next(s.now)
	if want := "the master lacks the permission to launch machines: no; next try in 30s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDecideReturnsItsNextWake(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		s    *scene
		want time.Duration
	}{
		{"nothing to wait for", at(limits()), 0},
		{"until idle for too long", at(limits()).joined(8, "m1").later(time.Minute), 19 * time.Minute},
		{"until starting for too long", at(limits()).launched("m1").later(time.Minute), 19 * time.Minute},
		{"until the next try", at(limits()).waits(8).refused("a", cloud.Denied), 30 * time.Second},
		{"until an open launch is too old", at(limits()).open("t", 1), elastic.TokenLife},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got time.Duration
			if w := elastic.Decide(tc.s.f, tc.s.now).Wake; !w.IsZero() {
				got = w.Sub(tc.s.now)
			}
			if got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
