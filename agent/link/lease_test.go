package link

import (
	"testing"
	"time"
)

func TestALeaseEndsTheWaitAfterWhatWasAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		length, from, now time.Duration
		want              bool
	}{
		{"before the first welcome", 0, 0, time.Hour, false},
		{"of a master that tells no wait", 0, time.Minute, time.Hour, false},
		{"just answered", 25 * time.Second, time.Minute, time.Minute, false},
		{"a moment before", 25 * time.Second, time.Minute, 85*time.Second - 1, false},
		{"at the wait", 25 * time.Second, time.Minute, 85 * time.Second, true},
		{"after a suspension", 25 * time.Second, time.Minute, time.Hour, true},
	} {
		if got := expired(c.length, c.from, c.now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAnOlderAnswerDoesNotShortenALease(t *testing.T) {
	t.Parallel()
	l := &Lease{}
	l.learn(time.Hour)
	l.answered(10 * time.Second)
	l.answered(5 * time.Second)
	if l.from != 10*time.Second {
		t.Errorf("got %s, want 10s", l.from)
	}
	var none *Lease
	none.learn(1)
	none.answered(1)
	if _, over := none.Over(); over || none.wait() != 0 {
		t.Error("no lease: got it over")
	}
}
