// Package audit records actions on the cluster with their user, address, time and outcome: logins
// and changes of users, passwords, keys, agents, queues and configuration, and the killing of
// tasks.
//
// Entries are never changed and only deleted when they expire. An entry is stored before the caller
// gets the response. It is also written to the master's own log, for systems that collect that.
package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// The outcomes of actions.
const (
	Done    = "done"
	Refused = "refused"
)

// Config configures Open.
type Config struct {
	Store *store.Store
	// Keep is the retention of entries; 0 means forever.
	Keep time.Duration
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// Log receives a line per entry; it may be nil.
	Log *slog.Logger
}

// record is a stored entry. Its key is its number.
type record struct {
	User       string `json:"user,omitempty"`
	UserID     int32  `json:"user_id,omitempty"`
	Admin      bool   `json:"admin,omitempty"`
	Allocation string `json:"allocation,omitempty"`
	Address    string `json:"address,omitempty"`
	Action     string `json:"action"`
	Target     string `json:"target,omitempty"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason,omitempty"`
	Details    string `json:"details,omitempty"`
	Count      int32  `json:"count,omitempty"`
}

var entries = store.Collection[record]{Kind: "audit"}

// Log is the audit log. It is safe for concurrent use.
type Log struct {
	cfg   Config
	flood *flood

	// writing is held while entries are written, so that they become durable in the order of their
	// numbers and a follower misses none.
	writing sync.Mutex
	next    int64 // guarded by writing

	mu      sync.Mutex          // guards the following fields
	pending []*apiv1.AuditEntry // not stored yet
	grown   chan struct{}       // closed and replaced when entries are stored
}

// Open reads the last number of the log.
func Open(ctx context.Context, cfg Config) (*Log, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	last, found, err := entries.Last(ctx, cfg.Store)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	l := &Log{cfg: cfg, flood: newFlood(), next: 1, grown: make(chan struct{})}
	if found {
		n, err := strconv.ParseInt(last.ID, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("open the audit log: read the last number: %w", err)
		}
		l.next = n + 1
	}
	return l, nil
}

// entryID formats numbers with a fixed width, so that all databases sort them alike.
func entryID(n int64) string { return fmt.Sprintf("%016d", n) }

const (
	// mostPending is the maximum number of pending entries while the store cannot be written.
	mostPending = 1000
	// writeTime is how long a caller waits for an unresponsive store.
	writeTime = 10 * time.Second
	// longestText is the maximum length of each text in an entry.
	longestText = 256
)

// Record adds an entry and sets its time; its number is assigned when it is stored. It returns when
// the entry is durable. If the store cannot be written, it logs the error, and the entry is stored
// with a later one.
func (l *Log) Record(ctx context.Context, e *apiv1.AuditEntry) {
	now := l.cfg.Now()
	e.Time = timestamppb.New(now)
	for _, text := range []*string{&e.User, &e.Target, &e.Details, &e.Reason, &e.Address} {
		*text = plainText(*text)
	}
	if !l.flood.admitEntry(e, now) {
		return
	}
	l.addPending(ctx, e)
}

func (l *Log) addPending(ctx context.Context, list ...*apiv1.AuditEntry) {
	if len(list) == 0 {
		return
	}
	for _, e := range list {
		l.cfg.Log.Info("audit", "action", e.GetAction(), "outcome", e.GetOutcome(), "reason", e.GetReason(),
			"user", e.GetUser(), "address", e.GetAddress(), "allocation", e.GetAllocationId(),
			"target", e.GetTarget(), "details", e.GetDetails(), "count", e.GetCount())
	}
	l.mu.Lock()
	l.pending = append(l.pending, list...)
	if over := len(l.pending) - mostPending; over > 0 {
		l.pending = l.pending[over:] // they are in the master's log
	}
	l.mu.Unlock()
	// Record the action even if its client has disconnected.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := l.storePending(ctx); err != nil {
		l.cfg.Log.Error("cannot store audit log entries; retrying with the next entry", "err", err)
	}
}

// storePending writes all pending entries, including those of other callers.
func (l *Log) storePending(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	list := l.pending
	l.pending = nil
	l.mu.Unlock()
	if len(list) == 0 {
		return nil // the previous writer stored it too
	}
	err := l.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for i, e := range list {
			n := entryID(l.next + int64(i))
			if err := entries.Put(tx, n, e.GetUser(), e.GetTime().AsTime(), toRecord(e)); err != nil {
				return err
			}
		}
		return nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !errors.Is(err, store.ErrOutcomeUnknown) {
		l.pending = append(list, l.pending...)
		return err
	}
	l.next += int64(len(list))
	close(l.grown)
	l.grown = make(chan struct{})
	return err
}

func toRecord(e *apiv1.AuditEntry) record {
	return record{
		User: e.GetUser(), UserID: e.GetUserId(), Admin: e.GetAdmin(), Allocation: e.GetAllocationId(),
		Address: e.GetAddress(), Action: e.GetAction(), Target: e.GetTarget(), Outcome: e.GetOutcome(),
		Reason: e.GetReason(), Details: e.GetDetails(), Count: e.GetCount(),
	}
}

func toAPI(d store.Doc[record]) *apiv1.AuditEntry {
	r := d.Value
	return &apiv1.AuditEntry{
		Id: d.ID, Time: timestamppb.New(d.At), User: r.User, UserId: r.UserID, Admin: r.Admin, AllocationId: r.Allocation,
		Address: r.Address, Action: r.Action, Target: r.Target, Outcome: r.Outcome,
		Reason: r.Reason, Details: r.Details, Count: r.Count,
	}
}

// flushEvery is the interval for storing counted entries.
const flushEvery = time.Minute

// Run stores the counted entries every minute, and once more at the end.
func (l *Log) Run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.addPending(ctx, l.flood.takeCounted(l.cfg.Now())...)
		case <-ctx.Done():
			l.addPending(ctx, l.flood.takeCounted(l.cfg.Now())...)
			return
		}
	}
}

// deletedAtOnce limits how long one deletion blocks other writes.
const deletedAtOnce = 1000

// Sweep deletes the entries that exceed the retention.
func (l *Log) Sweep(ctx context.Context) error {
	if l.cfg.Keep <= 0 {
		return nil
	}
	before := l.cfg.Now().Add(-l.cfg.Keep)
	for after := ""; ; {
		docs, err := entries.Behind(ctx, l.cfg.Store, after, time.Time{}, deletedAtOnce)
		if err != nil {
			return err
		}
		n := 0
		for n < len(docs) && docs[n].At.Before(before) {
			after = docs[n].ID
			n++
		}
		if n == 0 {
			return nil
		}
		err = l.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			for _, d := range docs[:n] {
				if err := entries.Delete(tx, d.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || n < len(docs) {
			return err
		}
	}
}
