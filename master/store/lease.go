package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/master/store/database"
)

// Lease is the right to write to a store. Every write transaction verifies its epoch: the latest owner
// has the highest epoch, and all others are fenced.
//
//	free ──Acquire──▶ held ──Acquire by another, after expiry──▶ lost
//	  ▲                 │
//	  └──────Close──────┘
type Lease struct {
	// Owner is the name of the owner.
	Owner string
	// Epoch counts the acquisitions of the store; it never decreases.
	Epoch int64

	lost    chan struct{}
	gone    atomic.Bool
	touched atomic.Bool // a commit has renewed it since the last tick
}

// Lost returns a channel that is closed when another master has taken the lease. The process must
// then stop: its writes fail, and its state in memory is outdated.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err returns ErrFenced after the lease was lost, and nil before.
func (l *Lease) Err() error {
	if l.gone.Load() {
		return ErrFenced
	}
	return nil
}

func (l *Lease) markLost() {
	if l.gone.CompareAndSwap(false, true) {
		close(l.lost)
	}
}

func (l *Lease) markRenewed() { l.touched.Store(true) }

// Acquire takes the lease for owner and renews it until Close. It must be called only once.
//
// On PostgreSQL it returns a [database.HeldError] if another owner holds a lease that has not
// expired by the server's clock. The same owner takes the lease over immediately: an owner is an
// installation, not a process, and its former process is fenced. On SQLite the lock file excludes a
// live owner, so that Acquire succeeds.
func (s *Store) Acquire(ctx context.Context, owner string) (*Lease, error) {
	if owner == "" {
		return nil, errors.New("acquire the store: no owner given")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("acquire the store: %w", err)
	}
	var lease *Lease
	err = s.enqueueRequest(ctx, &request{ctx: ctx, raw: func(ctx context.Context, w *writer) error {
		var err error
		lease, err = w.acquireLease(ctx, owner, host)
		return err
	}})
	if err != nil {
		return nil, fmt.Errorf("acquire the store: %w", err)
	}
	s.cfg.Log.Info("acquired the store", "owner", owner, "epoch", lease.Epoch)
	if s.db.Timed {
		s.loops.Go(func() { s.renewLease(lease) })
	}
	return lease, nil
}

type leaseRow struct {
	owner, host        string
	epoch, seq         int64
	expires, clockTime int64
}

// refusesOwner reports whether the lease excludes owner.
func (r leaseRow) refusesOwner(owner string, timed bool) bool {
	return timed && r.owner != owner && r.expires > r.clockTime
}

func (w *writer) acquireLease(ctx context.Context, owner, host string) (*Lease, error) {
	if w.lease != nil {
		return nil, fmt.Errorf("it is already acquired by %q in this process", w.lease.Owner)
	}
	if err := w.beginTransaction(ctx); err != nil {
		return nil, err
	}
	row, err := w.lockLease(ctx)
	if err != nil {
		return nil, err
	}
	if row.refusesOwner(owner, w.db.Timed) {
		return nil, &database.HeldError{Store: w.db.Name, Owner: row.owner, Host: row.host, Until: fromMicros(row.expires)}
	}
	lease := &Lease{Owner: owner, Epoch: row.epoch + 1, lost: make(chan struct{})}
	if _, err := w.changeRows(ctx, "UPDATE lease SET owner = ?, host = ?, epoch = ?, expires = "+w.db.Now+" + ? WHERE id = 1",
		owner, host, lease.Epoch, w.ttl.Microseconds()); err != nil {
		return nil, err
	}
	if err := w.execQuery(ctx, "COMMIT"); err != nil {
		return nil, err
	}
	w.opened, w.lease, w.seq = false, lease, row.seq
	return lease, nil
}

// lockLease reads the lease and locks its row until the end of the transaction. It uses an update,
// because that locks the row in both databases.
func (w *writer) lockLease(ctx context.Context) (row leaseRow, err error) {
	rows, err := w.queryRows(ctx, "UPDATE lease SET epoch = epoch WHERE id = 1 "+
		"RETURNING owner, host, epoch, seq, expires, "+w.db.Now)
	if err != nil {
		return row, err
	}
	err = scanAll(rows, func(r *sql.Rows) error {
		return r.Scan(&row.owner, &row.host, &row.epoch, &row.seq, &row.expires, &row.clockTime)
	})
	return row, err
}

// renewLease renews the lease with an empty write if no other write has renewed it. Every commit
// renews it, so that a busy master needs no additional writes.
func (s *Store) renewLease(l *Lease) {
	tick := time.NewTicker(s.cfg.LeaseTTL / 3)
	defer tick.Stop()
	down := false
	for {
		select {
		case <-s.closing:
			return
		case <-l.lost:
			return
		case <-tick.C:
		}
		if l.touched.Swap(false) {
			continue
		}
		err := s.Write(s.life, func(*Tx) error { return nil })
		switch {
		case err == nil && down:
			s.cfg.Log.Info("renewed the store's lease again", "epoch", l.Epoch)
		case err != nil && !down && !errors.Is(err, ErrClosed):
			s.cfg.Log.Warn("cannot renew the store's lease", "epoch", l.Epoch, "err", err)
		}
		down = err != nil
	}
}

// releaseLease releases the lease, so that a successor need not wait for its expiry.
func releaseLease(ctx context.Context, w *writer) error {
	if w.lease == nil {
		return nil
	}
	// If the lease was lost, the epoch does not match and nothing changes.
	_, err := w.changeRows(ctx, "UPDATE lease SET expires = 0 WHERE id = 1 AND epoch = ?", w.lease.Epoch)
	return err
}

// toMicros returns the stored form of a time: microseconds since 1970 UTC, 0 for the zero time.
func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
