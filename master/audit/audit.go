// Package audit keeps who did what to the cluster, from where, when, and whether it
// was done: logins, users, passwords, keys, agents, kills, queues and configuration.
//
// An entry is added and never changed; only its age removes it. It is in the store
// before the caller hears of the outcome, and beside that a line of the master's own
// log, for those who collect that.
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

// Outcomes of what was tried.
const (
	Done    = "done"
	Refused = "refused"
)

// Config is what Open needs.
type Config struct {
	Store *store.Store
	// Keep is how long entries stay; 0 is for ever.
	Keep time.Duration
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Log gets a line for each entry; nil gets none.
	Log *slog.Logger
}

// record is an entry as it is stored, under its number.
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

	// writing is held while entries are written, so that numbers become durable in their
	// order and a reader who follows misses none.
	writing sync.Mutex
	next    int64 // guarded by writing

	mu      sync.Mutex          // guards what follows
	pending []*apiv1.AuditEntry // not stored yet
	grown   chan struct{}       // closed, and replaced, when entries were stored
}

// Open finds the end of the log.
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

// entryID has as many digits for every number, so that all databases order it alike.
func entryID(n int64) string { return fmt.Sprintf("%016d", n) }

const (
	// mostPending bounds what is remembered while the store cannot write.
	mostPending = 1000
	// writeTime is how long a caller waits for a store that does not answer.
	writeTime = 10 * time.Second
	// longestText bounds each text of an entry.
	longestText = 256
)

// Record adds an entry and sets its time; the number is given when it is stored. It
// returns when the entry is durable. When the store cannot write, that is logged,
// and the entry is stored with a later one.
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
		l.pending = l.pending[over:] // each is a line of the master's log as well
	}
	l.mu.Unlock()
	// Who has left still did it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := l.storePending(ctx); err != nil {
		l.cfg.Log.Error("store the audit log; what is missing is stored when the store can write again", "err", err)
	}
}

// storePending writes what is pending, that of others as well, in one go.
func (l *Log) storePending(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	list := l.pending
	l.pending = nil
	l.mu.Unlock()
	if len(list) == 0 {
		return nil // the writer before this one took it along
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

// flushEvery is how often what was only counted is written down.
const flushEvery = time.Minute

// Run writes down every minute what was only counted, and once more at the end.
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

// deletedAtOnce bounds how long one write of a sweep holds up others.
const deletedAtOnce = 1000

// Sweep removes the entries that are older than they are kept.
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
