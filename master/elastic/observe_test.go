package elastic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

// stateOf returns a machine's state, or "" for an unknown machine.
func (s *scene) stateOf(id cloud.InstanceID) elastic.State {
	if m := s.f.Machines[id]; m != nil {
		return m.State
	}
	return ""
}

func running(id cloud.InstanceID) cloud.Instance {
	return cloud.Instance{ID: id, State: cloud.InstanceRunning}
}

// terminated terminates a machine as the launcher does.
func (s *scene) terminated(id cloud.InstanceID) *scene {
	if err := s.f.Move(id, elastic.Terminating, elastic.Why{Cause: elastic.CauseIdle, Reason: "idle"}, s.now); err != nil {
		panic(err)
	}
	s.f.Machines[id].Accepted = s.now
	return s
}

// A termination that was accepted without effect is repeated, after a longer wait if the machine is
// stopping.
func TestIneffectiveTerminationOfAStoppedMachineIsRepeated(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		state cloud.InstanceState
		after time.Duration
		want  bool
	}{
		{cloud.InstanceRunning, 2 * elastic.ListLag, false},
		{cloud.InstanceRunning, 2*elastic.ListLag + time.Second, true},
		{cloud.InstanceStopped, 2 * elastic.ListLag, false},
		{cloud.InstanceStopped, 2*elastic.ListLag + time.Second, true},
		{cloud.InstanceStopping, 2*elastic.ListLag + time.Second, false},
		{cloud.InstanceStopping, 10 * time.Minute, false},
		{cloud.InstanceStopping, 10*time.Minute + time.Second, true},
	} {
		s := at(limits()).launched("m").terminated("m").later(tc.after)
		s.list(cloud.Instance{ID: "m", State: tc.state})
		if got := len(elastic.Decide(s.f, s.now).Kill) == 1; got != tc.want || s.stateOf("m") != elastic.Terminating {
			t.Errorf("%s after %v: got it ended again: %t, want %t", tc.state, tc.after, got, tc.want)
		}
	}
}

// An interrupted machine is distinguished from one that a user has stopped.
func TestCauseOfAStoppedMachine(t *testing.T) {
	t.Parallel()
	for kind, want := range map[cloud.Kind]elastic.Cause{cloud.NoCapacity: elastic.CauseTaken, "": elastic.CauseStopped} {
		for name, s := range map[string]*scene{"known": at(limits()).joined(8, "m"), "a stranger": at(limits())} {
			s.list(cloud.Instance{ID: "m", State: cloud.InstanceStopped, Kind: kind, Reason: "preempted"})
			m := s.f.Machines["m"]
			if m == nil || m.State != elastic.Terminating || m.Cause != want || strings.Contains(m.Reason, "preempted") != (kind != "") {
				t.Errorf("%s, %q: got %+v", name, kind, m)
			}
		}
	}
}

func TestStaleLists(t *testing.T) {
	t.Parallel()
	lag := elastic.ListLag
	for _, tc := range []struct {
		name string
		s    *scene
		want elastic.State
	}{
		{"it lacks a new machine", at(limits()).launched("m").later(time.Minute).list(), elastic.Starting},
		{"it lacks an old machine once", at(limits()).launched("m").later(time.Hour).list(), elastic.Starting},
		{"it lacks an old machine for long", at(limits()).launched("m").later(time.Hour).list().later(lag).list(), ""},
		{"it lacks a machine whose agent is there", at(limits()).joined(8, "m").later(time.Hour).list().later(lag).list(), elastic.Joined},
		{"it lacked a machine that is back", at(limits()).launched("m").later(time.Hour).list().later(lag).list(running("m")).list(), elastic.Starting},
		{"it shows one that is being terminated", at(limits()).launched("m").terminated("m").later(time.Minute).list(running("m")), elastic.Terminating},
		{"it shows one that is gone", at(limits()).launched("m").terminated("m").list(cloud.Instance{ID: "m", State: cloud.InstanceTerminated}).later(time.Minute).list(running("m")), ""},
		{"it still shows a machine that was considered gone", at(limits()).launched("m").later(time.Hour).list().later(lag).list().later(2 * lag).list(running("m")), elastic.Terminating},
		{"it shows a stranger", at(limits()).list(running("m")), elastic.Starting},
		{"it shows a stranger that was stopped", at(limits()).list(cloud.Instance{ID: "m", State: cloud.InstanceStopped}), elastic.Terminating},
		{"it shows a stranger that has ended", at(limits()).list(cloud.Instance{ID: "m", State: cloud.InstanceTerminated}), ""},
		{"it shows a stranger while a launch is open", at(limits()).open("t", 1).list(running("m")), ""},
		{"it shows a machine of an open launch", at(limits()).open("t", 1).list(cloud.Instance{ID: "m", Token: "t", State: cloud.InstanceRunning}), elastic.Starting},
		{"the machine is stopping", at(limits()).launched("m").list(cloud.Instance{ID: "m", State: cloud.InstanceStopping}), elastic.Terminating},
		{"the machine has ended", at(limits()).launched("m").list(cloud.Instance{ID: "m", State: cloud.InstanceTerminated}), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.s.stateOf("m"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestIneffectiveTerminationIsRepeated(t *testing.T) {
	t.Parallel()
	s := at(limits()).launched("m").terminated("m").later(2*elastic.ListLag + time.Second).list(running("m"))
	if got, want := short(elastic.Decide(s.f, s.now)), "kill m; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnrecordedMachineWithAgentIsJoined(t *testing.T) {
	t.Parallel()
	s := at(limits())
	s.agents = []elastic.Agent{{ID: "m", Slots: 8, Busy: true}}
	s.observe().list(cloud.Instance{ID: "m", State: cloud.InstanceRunning, Launched: s.now.Add(-time.Hour)})
	if got := short(elastic.Decide(s.f, s.now)); got != "" || s.stateOf("m") != elastic.Joined {
		t.Errorf("got %q and %q, want nothing to do and joined", got, s.stateOf("m"))
	}
}

func TestMachineWithTooFewSlotsRefusesItsOffer(t *testing.T) {
	t.Parallel()
	s := at(limits()).launched("m")
	s.agents = []elastic.Agent{{ID: "m", Slots: 0, Aux: 100}}
	s.observe().waits(8)
	s.f.Grant(offer("a")) // a grant does not clear a refusal for broken machines
	if got, want := short(elastic.Decide(s.f, s.now)), "launch 1 b; "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.joined(8, "m2")
	if diff := cmp.Diff(len(s.f.Standing(s.now)), 0); diff != "" {
		t.Errorf("refusals after one has joined whole: got −, want +:\n%s", diff)
	}
}

func TestUnexpectedEndRefusesItsOffer(t *testing.T) {
	t.Parallel()
	ended := func(kind cloud.Kind) cloud.Instance {
		return cloud.Instance{ID: "m", State: cloud.InstanceTerminated, Kind: kind, Reason: "as the test wants"}
	}
	lag := elastic.ListLag
	for name, tc := range map[string]struct {
		s    *scene
		want cloud.Kind
	}{
		"it ended before it joined":          {at(limits()).launched("m").list(ended("")), cloud.Invalid},
		"it ended for a quota":               {at(limits()).launched("m").list(ended(cloud.Quota)), cloud.Quota},
		"it was stopped before it joined":    {at(limits()).launched("m").list(cloud.Instance{ID: "m", State: cloud.InstanceStopped}), cloud.Invalid},
		"it vanished before it joined":       {at(limits()).launched("m").later(time.Hour).list().later(lag).list(), cloud.Invalid},
		"it was interrupted":                 {at(limits()).joined(8, "m").list(ended(cloud.NoCapacity)), cloud.NoCapacity},
		"it was terminated externally":       {at(limits()).joined(8, "m").list(ended("")), ""},
		"it was terminated before it joined": {at(limits()).launched("m").terminated("m").list(ended("")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got cloud.Kind
			for _, r := range tc.s.f.Standing(tc.s.now) {
				got = r.Kind
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRepeatedGrantIsOneMachine(t *testing.T) {
	t.Parallel()
	s := at(limits()).open("t", 1).list(cloud.Instance{ID: "m", Token: "t", State: cloud.InstanceRunning})
	s.f.Granted("t", []cloud.Instance{running("m")}, s.now)
	s.terminated("m").list()
	s.later(2 * elastic.ListLag).list().later(elastic.ListLag).list()
	s.f.Granted("t", []cloud.Instance{running("m")}, s.now)
	if got := s.stateOf("m"); got != "" {
		t.Errorf("got %q, want it forgotten", got)
	}
}

func TestRefusalsBackOffUntilAGrant(t *testing.T) {
	t.Parallel()
	s := at(limits())
	var got []time.Duration
	for range 6 {
		r := s.f.Refuse(offer("a"), elastic.Refusal{Kind: cloud.Quota}, s.now)
		got = append(got, r.Until.Sub(s.now))
		s.later(r.Until.Sub(s.now))
	}
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got −, want +:\n%s", diff)
	}
	s.f.Grant(offer("b"))
	if r := s.f.Refuse(offer("a"), elastic.Refusal{Kind: cloud.Quota}, s.now); r.Times != 1 {
		t.Errorf("got refusal %d, want the first again", r.Times)
	}
}

func TestNextList(t *testing.T) {
	t.Parallel()
	lost := func(a *elastic.Agent) { a.Lost = true }
	for _, tc := range []struct {
		name string
		s    *scene
		want time.Duration
	}{
		{"nothing is there", at(limits()), 30 * time.Minute},
		{"all are there", at(limits()).joined(8, "m"), 5 * time.Minute},
		{"one is starting", at(limits()).joined(8, "m").launched("n"), 30 * time.Second},
		{"an answer is open", at(limits()).open("t", 1), 30 * time.Second},
		{"a link is broken", at(limits()).joined(8, "m").agent("m", lost), 15 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.s.f.NextList(t0(), tc.s.now).Sub(t0()); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestConcurrentRefusalsCountOnce(t *testing.T) {
	t.Parallel()
	s := at(with(func(l *elastic.Limits) { l.ErrorTimeout, l.ErrorRetries = 5*time.Minute, 1 }))
	for range 8 {
		s.refused("a", cloud.Denied)
	}
	_, shown := s.f.Shown(s.now)
	if all := s.f.Standing(s.now); len(all) != 1 || all[0].Times != 1 || shown {
		t.Errorf("got %+v, shown %v, want one refusal that is tolerated", all, shown)
	}
}

func TestSlowListIsAsOldAsItsRequest(t *testing.T) {
	t.Parallel()
	s := at(limits()).launched("m").list()
	s.later(10 * time.Minute)
	s.f.See(nil, t0().Add(30*time.Second), s.now)
	if got := s.stateOf("m"); got != elastic.Starting {
		t.Errorf("got %q, want it still starting", got)
	}
}

func TestSettledLaunchCountsUntilListed(t *testing.T) {
	t.Parallel()
	s := at(limits()).open("t", 1).waits(8)
	s.f.Settle("t", s.now)
	if s.f.Launches["t"].Repeatable(s.now) {
		t.Error("it may be sent again, want it left alone")
	}
	d := elastic.Decide(s.f, s.now)
	if len(d.Launch)+len(d.Forget) != 0 || d.Fates[0] != elastic.Coming || !d.Wake.Equal(s.now.Add(elastic.ListLag)) {
		t.Errorf("got %+v, want it waited for, for %v", d, elastic.ListLag)
	}
	s.later(elastic.ListLag)
	if d := elastic.Decide(s.f, s.now); len(d.Forget) != 1 {
		t.Errorf("got %+v, want it forgotten: it gave nothing", d)
	}
}

// Machines that are granted but never come up count as launch errors.
func TestMachinesThatNeverJoinBecomeALaunchError(t *testing.T) {
	t.Parallel()
	s := at(with(func(l *elastic.Limits) { l.ErrorTimeout, l.ErrorRetries = time.Hour, 2 }))
	s.f.Offers = s.f.Offers[:1]
	s.waits(8)
	for try := range 3 {
		if _, shown := s.f.Shown(s.now); shown {
			t.Fatalf("after %d machines: got the launch error, want it after three", try)
		}
		if d := elastic.Decide(s.f, s.now); try > 0 {
			s.later(d.Wake.Sub(s.now))
		}
		s.f.Grant(offer("a"))
		s.f.Refuse(offer("a"), elastic.Refusal{Kind: cloud.Invalid, Broken: true, Text: "it never joined"}, s.now)
	}
	if d := elastic.Decide(s.f, s.now); len(d.Fail) != 1 {
		t.Errorf("got %+v, want the task failed", d)
	}
	s.joined(8, "m")
	if _, shown := s.f.Shown(s.now); shown {
		t.Error("got the launch error after a machine has joined, want it over")
	}
}
