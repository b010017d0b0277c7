package keeper

import (
	"slices"
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
		{"no lease yet", lease.Term{}, time.Hour, step{at: time.Hour + idleLook}},
		{"a master that tells no wait", lease.Term{From: time.Second}, time.Hour, step{at: time.Hour + idleLook}},
		{"just renewed", term, 100 * time.Second, step{at: 121 * time.Second}},
		{"over, and its agent's to end", term, 120 * time.Second, step{at: 121 * time.Second}},
		{"over, and the agent had its time", term, 121 * time.Second, step{look: true}},
		{"a short one", lease.Term{Length: time.Second, From: time.Second}, 2 * time.Second, step{at: 2100 * time.Millisecond}},
		{"after a suspension", term, time.Hour, step{look: true}},
	} {
		if got := wait(tc.term, tc.now); !equal(got, tc.want) {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestWhatAKeeperEnds(t *testing.T) {
	t.Parallel()
	const now = 121 * time.Second
	rest := now + restLook
	for _, tc := range []struct {
		name   string
		phases map[string]container.Phase
		agent  bool
		now    time.Duration
		want   step
	}{
		{"nothing is left", nil, true, now, step{leave: true, at: rest}},
		{"what has ended is its agent's", map[string]container.Phase{"a": container.Ended}, true, now, step{at: rest}},
		{"what has ended waits for the next agent", map[string]container.Phase{"a": container.Ended}, false, now, step{leave: true, at: rest}},
		{"what runs is ended", map[string]container.Phase{"a": container.Running}, false, now, step{silence: []string{"a"}, end: []string{"a"}, at: now + endLook}},
		{"an engine does not tell", map[string]container.Phase{"a": ""}, true, now, step{silence: []string{"a"}, end: []string{"a"}, at: now + endLook}},
		{"a stopped agent may start it", map[string]container.Phase{"a": container.Absent}, true, time.Hour, step{silence: []string{"a"}, at: time.Hour + restLook}},
		{"an engine may start it yet", map[string]container.Phase{"a": container.Created}, false, now, step{silence: []string{"a"}, at: rest}},
		{"and does not any more", map[string]container.Phase{"a": container.Created}, false, now + linger, step{leave: true, silence: []string{"a"}, at: now + linger + restLook}},
		{
			"one runs and another does not", map[string]container.Phase{"a": container.Absent, "b": container.Running, "c": container.Ended}, false, time.Hour,
			step{silence: []string{"a", "b"}, end: []string{"b"}, at: time.Hour + endLook},
		},
	} {
		got := decide(term, scene{tc.phases, tc.agent}, tc.now)
		slices.Sort(got.silence)
		if !equal(got, tc.want) {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func equal(a, b step) bool {
	return a.look == b.look && a.leave == b.leave && a.at == b.at && slices.Equal(a.silence, b.silence) && slices.Equal(a.end, b.end)
}
