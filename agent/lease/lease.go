// Package lease limits how long a disconnected agent runs tasks that its master restarts elsewhere.
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

// Term is a lease at one moment. Both fields are 0 until they are known.
type Term struct {
	// Length is the master's reconnect wait.
	Length time.Duration
	// From is the start of the lease, as time since boot.
	From time.Duration
}

// Over reports whether the lease has expired. A lease without a length or an answer never expires.
func (t Term) Over(now time.Duration) bool {
	return t.Length > 0 && t.From > 0 && now >= t.From+t.Length
}

// Lease limits how long an agent without a connection to its master runs tasks that the master
// restarts elsewhere.
//
//	agent   ping ─────────── answered: good for the wait from here ──────▶ ends it
//	master      ▲ received                       loses the agent ──── wait + margin ──▶ starts it elsewhere
//
// It starts when the agent sent the ping that the master answered. The master had the connection
// then or later, so its own wait begins no earlier. The lease is stored in a file, so that an agent
// that is killed and restarted while disconnected does not extend it. A nil lease never expires.
type Lease struct {
	boot string
	file *os.File // nil if the lease is not stored

	// saving orders the writes, so that the file contains the latest term. Over does not wait for
	// it, because a disk that hangs must not prolong a lease.
	saving sync.Mutex
	mu     sync.Mutex // guards term
	term   Term
}

// File returns the name of the lease file of a data_dir.
func File(dataDir string) string { return filepath.Join(dataDir, "lease") }

// Open opens the lease file. It keeps the lease of an earlier agent if the machine has not rebooted
// since.
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
	l.term, _ = readTerm(f, boot) // an unreadable file means no lease yet
	return l, nil
}

// bootID returns the boot ID of the machine.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// recordFormat contains the boot ID, the length and the start. All records have the same size.
const recordFormat = "%s %20d %20d\n"

// maxRecord is the size of the read buffer, larger than any record.
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
		return Term{}, fmt.Errorf("invalid lease: %w", err)
	}
	if was != boot {
		return Term{}, nil
	}
	return Term{time.Duration(length), time.Duration(from)}, nil
}

// change updates the lease and overwrites its record, which needs no space on a full disk. If the
// write fails, the file keeps the older lease, which expires earlier for a restarted agent.
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

// Now returns the time since boot, including the time during which the machine was suspended, so
// that a lease expires during a suspension.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0 // every Linux since 2.6.39 has the clock; without it no lease expires
	}
	return time.Duration(ts.Nano())
}

// Learn sets the length of the lease, the master's reconnect wait.
func (l *Lease) Learn(length time.Duration) {
	l.change(func(t *Term) { t.Length = length })
}

// Answered renews the lease: the master has answered a message that was sent at the time asked.
func (l *Lease) Answered(asked time.Duration) {
	l.change(func(t *Term) { t.From = max(t.From, asked) })
}

// Wait returns the master's reconnect wait, or 0 if it is unknown.
func (l *Lease) Wait() time.Duration { return l.now().Length }

// Over reports whether the lease has expired, and returns its length.
func (l *Lease) Over() (wait time.Duration, over bool) {
	t := l.now()
	return t.Length, t.Over(Now())
}

// now returns the current term.
func (l *Lease) now() Term {
	if l == nil {
		return Term{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}
