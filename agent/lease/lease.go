// Package lease is how long an agent may run what its master starts elsewhere when it
// does not hear of the agent. Agents renew it, and their keepers read it.
package lease

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Term is a lease at one time. Both are 0 until they are known.
type Term struct {
	// Length is the master's reconnect wait.
	Length time.Duration
	// From is when it began, since the machine started.
	From time.Duration
}

// Known says whether there is a lease to end: it has a length, and an answer.
func (t Term) Known() bool { return t.Length > 0 && t.From > 0 }

// End is when a known lease ends, since the machine started.
func (t Term) End() time.Duration { return t.From + t.Length }

// Over says that the master has not answered for the wait.
func (t Term) Over(now time.Duration) bool { return t.Known() && now >= t.End() }

// Lease is how long the agent may run what its master starts elsewhere when it does
// not hear of the agent.
//
//	agent   ping ─────────── answered: good for the wait from here ──────▶ ends it
//	master      ▲ it was heard                          loses the agent ──── wait + margin ──▶ starts it elsewhere
//
// It is counted from when the question was asked that the master answered: the
// master had the link at that time or later, so that its own count begins no sooner.
// It is kept in a file: an agent that is killed and started again while its master
// does not hear of it has no longer lease than before. It is also in memory that the
// agent's keeper shares, which no disk can fill or hold up. A nil lease is never over.
type Lease struct {
	boot   string
	file   *os.File // nil for one that is not kept
	shared *os.File // nil where the system has no such memory

	mu   sync.Mutex // guards what follows
	term Term
}

// Open takes up the lease of an earlier agent of this machine's present run.
func Open(name string) (*Lease, error) {
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("open lease: %w", err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lease: %w", err)
	}
	l := &Lease{boot: boot, file: f}
	l.term, _ = readTerm(f, boot) // what cannot be read is no lease yet
	if fd, err := unix.MemfdCreate("det-deploy-lease", unix.MFD_CLOEXEC); err == nil {
		l.shared = os.NewFile(uintptr(fd), "lease")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saveTerm()
	return l, nil
}

// bootID tells one run of the machine from the next.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// recordFormat is the run of the machine, the length and the time, always as long.
const recordFormat = "%s %20d %20d\n"

// maxRecord holds every record.
const maxRecord = 128

func readTerm(f *os.File, boot string) (Term, error) {
	buf := make([]byte, maxRecord)
	n, err := f.ReadAt(buf, 0)
	if n == 0 {
		return Term{}, err
	}
	var was string
	var length, from int64
	if _, err := fmt.Sscanf(string(buf[:n]), recordFormat, &was, &length, &from); err != nil {
		return Term{}, fmt.Errorf("it is no lease: %w", err)
	}
	if was != boot {
		return Term{}, nil
	}
	return Term{time.Duration(length), time.Duration(from)}, nil
}

// saveTerm writes the lease where it was, which needs no room on a full disk. One that
// could not be written to the disk is that of before, and ends sooner for an agent
// that is started again; the keeper's is in memory. The caller holds mu.
func (l *Lease) saveTerm() {
	record := fmt.Appendf(nil, recordFormat, l.boot, int64(l.term.Length), int64(l.term.From))
	for _, f := range []*os.File{l.shared, l.file} {
		if f != nil {
			_, _ = f.WriteAt(record, 0)
		}
	}
}

// Shared is the file that a keeper reads.
func (l *Lease) Shared() *os.File {
	if l.shared != nil {
		return l.shared
	}
	return l.file
}

// Close closes the files.
func (l *Lease) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	if l.shared != nil {
		_ = l.shared.Close() // it is memory
	}
	return l.file.Close()
}

// Now is the time since the machine started, with that during which it was
// suspended: a machine that wakes up is late by all of it.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0 // every Linux since 2.6.39 has the clock; without it no lease ends
	}
	return time.Duration(ts.Nano())
}

// Learn takes the master's reconnect wait.
func (l *Lease) Learn(length time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term.Length = length
	l.saveTerm()
}

// Answered renews the lease: the master has answered what it was asked at that time.
func (l *Lease) Answered(asked time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term.From = max(l.term.From, asked)
	l.saveTerm()
}

// Wait is the master's reconnect wait; 0 until it is known.
func (l *Lease) Wait() time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.Length
}

// Over says that the master has not answered for the wait, and what that is.
func (l *Lease) Over() (wait time.Duration, over bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.Length, l.term.Over(Now())
}
