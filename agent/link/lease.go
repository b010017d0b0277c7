package link

import (
	"fmt"
	"os"
	"strings"
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
// It is kept in a file: an agent that is killed and started again while its master
// does not hear of it has no longer lease than before. A nil lease is never over.
type Lease struct {
	boot string
	file *os.File // nil for one that is not kept

	mu sync.Mutex // guards what follows
	// length is the master's reconnect wait; 0 until it is known.
	length time.Duration
	from   time.Duration // since the machine started
}

// OpenLease takes up the lease of an earlier agent of this machine's present run.
func OpenLease(name string) (*Lease, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("open lease: %w", err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lease: %w", err)
	}
	l := &Lease{boot: strings.TrimSpace(string(boot)), file: f}
	var was string
	var length, from int64
	if _, err := fmt.Fscanf(f, leaseFormat, &was, &length, &from); err == nil && was == l.boot {
		l.length, l.from = time.Duration(length), time.Duration(from)
	}
	return l, nil
}

// leaseFormat is the run of the machine, the length and the time, always as long.
const leaseFormat = "%s %20d %20d\n"

// save writes the lease where it was, which needs no room on a full disk. One that
// could not be written is that of before, and ends sooner. The caller holds mu.
func (l *Lease) save() {
	if l.file != nil {
		_, _ = l.file.WriteAt(fmt.Appendf(nil, leaseFormat, l.boot, int64(l.length), int64(l.from)), 0)
	}
}

// Close closes the file.
func (l *Lease) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	return l.file.Close()
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
	l.save()
}

func (l *Lease) answered(asked time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from = max(l.from, asked)
	l.save()
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
