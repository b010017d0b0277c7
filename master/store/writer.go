package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/store/database"
)

const (
	// groupTime limits the time of a commit on PostgreSQL, so that a hanging server causes an error
	// instead of blocking the master.
	groupTime = 30 * time.Second
	// aloneLimit limits the time of requests that run alone. Acquiring a lease is fast, but loading
	// a backup of a large cluster is not.
	aloneLimit = 6 * time.Hour
	// resolveLimit limits the time for finding the result of a commit whose connection broke. After
	// it the result is reported as unknown.
	resolveLimit = 20 * time.Second
	resolvePause = 250 * time.Millisecond
)

// writer owns the only connection that writes. Only the writer's goroutine uses it.
type writer struct {
	db     *database.Database
	log    *slog.Logger
	ttl    time.Duration
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt // prepared on conn
	lease  *Lease               // nil until acquired
	seq    int64                // of the last durable commit; see resolveCommit
	opened bool                 // a transaction is open on conn
	// changedBytes is the estimated size of the changes in the current transaction.
	changedBytes int
	counts       *counts
	// nextWAL is the size of the write-ahead log, in bytes, at which it is truncated.
	nextWAL int64
}

// limitCommit sets a deadline for commits on PostgreSQL. For a local file it returns a context
// without cancellation, because a hanging disk cannot be interrupted and watching a context would
// cost a goroutine for every statement.
func (w *writer) limitCommit(ctx context.Context) (context.Context, context.CancelFunc) {
	if !w.db.Timed {
		return context.WithoutCancel(ctx), func() {}
	}
	return context.WithTimeout(ctx, groupTime)
}

func (w *writer) openConnection(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Write.Conn(ctx)
	if err != nil {
		return w.classifyError(ctx, err)
	}
	w.conn, w.stmts = conn, map[string]*sql.Stmt{}
	return nil
}

// hangUp returns the connection to the pool, which discards a broken one.
func (w *writer) hangUp() {
	w.closeStatements()
	if w.conn != nil {
		_ = w.conn.Close() // the connection may already be closed
	}
	w.conn, w.opened = nil, false
}

// closeStatements closes the statements. It must be called before the connection is closed.
func (w *writer) closeStatements() {
	for _, st := range w.stmts {
		_ = st.Close() // the connection may already be closed, and the statement with it
	}
	w.stmts = nil
}

func (w *writer) classifyError(ctx context.Context, err error) error {
	return w.db.ClassifyError(ctx, err)
}

func (w *writer) prepareStatement(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, found := w.stmts[query]; found {
		return st, nil
	}
	st, err := w.conn.PrepareContext(ctx, w.db.RewriteQuery(query))
	if err != nil {
		return nil, err
	}
	w.stmts[query] = st
	return st, nil
}

func (w *writer) changeRows(ctx context.Context, query string, args ...any) (int64, error) {
	st, err := w.prepareStatement(ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (w *writer) queryRows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := w.prepareStatement(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (w *writer) execQuery(ctx context.Context, query string) error {
	_, err := w.changeRows(ctx, query)
	return err
}

// beginGroup starts the transaction of a group and verifies the epoch. The update locks the lease's
// row until the commit, so that no other master can take over between the check and the commit. It
// replaces a connection that broke while it was idle, which is safe because no write has been sent
// on it.
func (w *writer) beginGroup(ctx context.Context) error {
	if w.lease == nil {
		return ErrNoLease
	}
	if err := w.lease.Err(); err != nil {
		return err
	}
	stale := w.conn != nil
	err := w.tryOpen(ctx)
	if err != nil && stale && errors.Is(err, ErrUnavailable) {
		err = w.tryOpen(ctx)
	}
	return err
}

func (w *writer) tryOpen(ctx context.Context) error {
	if err := w.openConnection(ctx); err != nil {
		return err
	}
	if err := w.beginTransaction(ctx); err != nil {
		w.abortTransaction(ctx)
		return w.classifyError(ctx, err)
	}
	n, err := w.changeRows(ctx, "UPDATE lease SET seq = ?, expires = "+w.db.Now+" + ? WHERE id = 1 AND epoch = ?",
		w.seq+1, w.ttl.Microseconds(), w.lease.Epoch)
	if err != nil {
		w.abortTransaction(ctx)
		return w.classifyError(ctx, err)
	}
	if n == 0 {
		w.abortTransaction(ctx)
		w.lease.markLost()
		return ErrFenced
	}
	return nil
}

func (w *writer) beginTransaction(ctx context.Context) error {
	if err := w.execQuery(ctx, w.db.Begin); err != nil {
		return err
	}
	w.opened = true
	return nil
}

// abortTransaction rolls back an open transaction. If the rollback fails, it closes the connection,
// so that the database ends the transaction.
func (w *writer) abortTransaction(ctx context.Context) {
	if w.conn == nil {
		return
	}
	if w.opened {
		if err := w.execQuery(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
			w.opened = false
			return
		}
	}
	w.discardConnection()
}

// discardConnection makes the pool discard the connection instead of reusing it inside a
// transaction.
func (w *writer) discardConnection() {
	w.closeStatements()
	if w.conn != nil {
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // returns the error that was passed in
	}
	w.hangUp()
}

// commitGroup commits the transaction. If the commit fails, it determines whether the changes are
// durable.
func (w *writer) commitGroup(ctx context.Context) error {
	err := w.execQuery(ctx, "COMMIT")
	if err == nil {
		w.opened = false
		w.seq++
		w.counts.commits.Add(1)
		w.lease.markRenewed()
		return nil
	}
	// Check the result even if the database reported an error: a durable write must not be reported
	// as failed.
	w.abortTransaction(ctx)
	if w.db.Full(err) && !w.db.Timed {
		// SQLite had no space for the commit frame, so that the group is not durable; the check
		// would need space, too.
		return w.classifyError(ctx, err)
	}
	return w.resolveCommit(ctx, err)
}

// resolveCommit determines whether the commit with number seq+1 is durable. The commit itself wrote
// the number into a row that only the owner of the epoch writes: if the number is present, so are
// all changes. The update waits for the lock of a backend that may still be committing on the broken
// connection.
func (w *writer) resolveCommit(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveLimit)
	defer cancel()
	for {
		epoch, seq, err := w.readSequence(ctx)
		switch {
		case err == nil && epoch != w.lease.Epoch:
			w.lease.markLost()
			return fmt.Errorf("%w (%w): %w", ErrFenced, ErrOutcomeUnknown, cause)
		case err == nil && seq == w.seq+1:
			w.seq++
			return nil
		case err == nil:
			return w.classifyError(ctx, cause)
		}
		w.discardConnection()
		if wait.For(ctx, resolvePause) != nil {
			// The number must not be reused for the next commit, regardless of the result.
			w.seq++
			return fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause)
		}
	}
}

func (w *writer) readSequence(ctx context.Context) (epoch, seq int64, err error) {
	if err := w.openConnection(ctx); err != nil {
		return 0, 0, err
	}
	rows, err := w.queryRows(ctx, "UPDATE lease SET epoch = epoch WHERE id = 1 RETURNING epoch, seq")
	if err != nil {
		return 0, 0, err
	}
	err = scanAll(rows, func(r *sql.Rows) error { return r.Scan(&epoch, &seq) })
	return epoch, seq, err
}
