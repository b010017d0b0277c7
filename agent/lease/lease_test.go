package lease

import (
	"path/filepath"
	"testing"
	"time"
)

func TestLeaseEndsWaitAfterLastAnswer(t *testing.T) {
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
		if got := (Term{c.length, c.from}).Over(c.now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAnOlderAnswerDoesNotShortenALease(t *testing.T) {
	t.Parallel()
	l := &Lease{}
	l.Learn(time.Hour)
	l.Answered(10 * time.Second)
	l.Answered(5 * time.Second)
	if l.term.From != 10*time.Second {
		t.Errorf("got %s, want 10s", l.term.From)
	}
	var none *Lease
	none.Learn(1)
	none.Answered(1)
	if _, over := none.Over(); over || none.Wait() != 0 {
		t.Error("no lease: got it over")
	}
}

func TestALeaseOutlivesItsAgent(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lease")
	open := func() *Lease {
		l, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	l := open()
	if _, over := l.Over(); over {
		t.Error("a new one: got it over")
	}
	l.Learn(time.Nanosecond)
	l.Answered(time.Second)
	if wait, over := open().Over(); !over || wait != time.Nanosecond {
		t.Errorf("got %v of %s, want the end of the one before", over, wait)
	}
	l.boot = "another-run"
	l.Answered(2 * time.Second)
	if _, over := open().Over(); over {
		t.Error("after the machine started again: got it over")
	}
}
