package keeper

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/lease"
)

var term = lease.Term{Length: 20 * time.Second, From: 100 * time.Second}

func TestAKeeperWaitsForTheEndOfTheLease(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		term lease.Term
		now  time.Duration
		want step
	}{
		{"no lease yet", lease.Term{}, time.Hour, step{at: time.Hour + lookMost}},
		{"a master that tells no wait", lease.Term{From: time.Second}, time.Hour, step{at: time.Hour + lookMost}},
		{"just renewed, and may become shorter", term, 100 * time.Second, step{at: 105 * time.Second}},
		{"over soon", term, 117 * time.Second, step{at: 121 * time.Second}},
		{"over, and its agent's to end", term, 120 * time.Second, step{at: 121 * time.Second}},
		{"over, and the agent had its time", term, 121 * time.Second, step{look: true}},
		{"a short one", lease.Term{Length: time.Second, From: time.Second}, 2 * time.Second, step{at: 2100 * time.Millisecond}},
		{"after a suspension", term, time.Hour, step{look: true}},
	} {
		if got := waitStep(tc.term, tc.now); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestWhatAKeeperEnds(t *testing.T) {
	t.Parallel()
	for phase, want := range map[container.Phase]deed{
		container.Ended:   {},
		container.Absent:  {silence: true},
		container.Created: {silence: true},
		container.Running: {silence: true, end: true},
		"":                {silence: true, end: true},
	} {
		if got := decideDeed(phase); got != want {
			t.Errorf("%q: got %+v, want %+v", phase, got, want)
		}
	}
}

func TestWhenAKeeperLooksAgainAndLeaves(t *testing.T) {
	t.Parallel()
	const now = 121 * time.Second
	rest := now + lookMost
	for _, tc := range []struct {
		name   string
		phases map[string]container.Phase
		agent  bool
		looks  int
		now    time.Duration
		want   step
	}{
		{"nothing is left", nil, true, 0, now, step{leave: true, at: rest}},
		{"what has ended is its agent's", map[string]container.Phase{"a": container.Ended}, true, 0, now, step{at: rest}},
		{"what has ended waits for the next agent", map[string]container.Phase{"a": container.Ended}, false, 0, now, step{leave: true, at: rest}},
		{"what runs is ended", map[string]container.Phase{"a": container.Running}, false, 0, now, step{at: now + endLook}},
		{"an engine does not tell", map[string]container.Phase{"a": ""}, true, 0, now, step{at: now + endLook}},
		{"nor the next time", map[string]container.Phase{"a": ""}, true, 1, now, step{at: now + 2*endLook}},
		{"nor ever", map[string]container.Phase{"a": ""}, true, 1 << 40, now, step{at: rest}},
		{"a stopped agent may start it", map[string]container.Phase{"a": container.Absent}, true, 0, time.Hour, step{at: time.Hour + lookMost}},
		{"an engine may start it yet", map[string]container.Phase{"a": container.Created}, false, 0, now, step{at: rest}},
		{"and does not any more", map[string]container.Phase{"a": container.Created}, false, 0, now + linger, step{leave: true, at: now + linger + lookMost}},
		{
			"one runs and another does not",
			map[string]container.Phase{"a": container.Absent, "b": container.Running, "c": container.Ended},
			false, 0, time.Hour,
			step{at: time.Hour + endLook},
		},
	} {
		if got := decideStep(term, scene{tc.phases, tc.agent, tc.looks}, tc.now); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
