package link

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Lease is how long the agent may run what its master starts elsewhere when it does
// not hear of the agent.
//
//	agent   ping ─────────── answered: good for the wait from here ──────▶ ends it
//	master      ▲ it was heard                          loses the agent ──── wait + margin ──▶ starts it elsewhere
//
// It is counted from when the question was asked that the master answered: the
// master had the link at that time or later, so that its own count begins no sooner.
// A nil lease is never over.
type Lease struct {
	mu sync.Mutex // guards what follows
	// length is the master's reconnect wait; 0 until it is known.
	length time.Duration
	from   time.Duration // since the machine started
}

// boottime is the time since the machine started, with that during which it was
// suspended: a machine that wakes up is late by all of it.
func boottime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0 // every Linux since 2.6.39 has the clock; without it no lease ends
	}
	return time.Duration(ts.Nano())
}

func (l *Lease) learn(length time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.length = length
}

func (l *Lease) answered(asked time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from = max(l.from, asked)
}

func (l *Lease) wait() time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.length
}

// Over says that the master has not answered for the wait, and what that is.
func (l *Lease) Over() (wait time.Duration, over bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.length, expired(l.length, l.from, boottime())
}

// expired is the rule: without a length or an answer there is no lease to end.
func expired(length, from, now time.Duration) bool {
	return length > 0 && from > 0 && now-from >= length
}
