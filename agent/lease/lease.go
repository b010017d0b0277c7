// Package lease bounds how long an agent may run what its master starts elsewhere when the
// master does not hear of the agent.
package lease

import (
	"fmt"
	"os"
	"path/filepath"
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

// Over reports whether the master has not answered for the wait. Without a length or an
// answer there is no lease to end.
func (t Term) Over(now time.Duration) bool {
	return t.Length > 0 && t.From > 0 && now >= t.From+t.Length
}

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

	// saving orders the changes, so that the file has the latest. Over does not wait for it: a disk
	// that hangs must not keep a lease from ending.
	saving sync.Mutex
	mu     sync.Mutex // guards term
	term   Term
}

// File returns the name of the file for the lease of a data_dir.
func File(dataDir string) string { return filepath.Join(dataDir, "lease") }

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

// change makes a change and writes the lease where it was, which needs no room on a full disk.
// One that could not be written is that of before, and ends sooner for an agent that is
// started again.
func (l *Lease) change(do func(*Term)) {
	if l == nil {
		return
	}
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	do(&l.term)
	term := l.term
	l.mu.Unlock()
	if l.file != nil {
		_, _ = l.file.WriteAt(fmt.Appendf(nil, recordFormat, l.boot, int64(term.Length), int64(term.From)), 0)
	}
}

// Close closes the file.
func (l *Lease) Close() error {
	if l == nil || l.file == nil {
		return nil
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
	l.change(func(t *Term) { t.Length = length })
}

// Answered renews the lease: the master has answered what it was asked at that time.
func (l *Lease) Answered(asked time.Duration) {
	l.change(func(t *Term) { t.From = max(t.From, asked) })
}

// Wait is the master's reconnect wait; 0 until it is known.
func (l *Lease) Wait() time.Duration { return l.now().Length }

// Over reports whether the master has not answered for the wait, and what that is.
func (l *Lease) Over() (wait time.Duration, over bool) {
	t := l.now()
	return t.Length, t.Over(Now())
}

// now is the lease at this time.
func (l *Lease) now() Term {
	if l == nil {
		return Term{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}
