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
	// groupTime bounds one commit on PostgreSQL, so that a server that hangs becomes
	// an error instead of a master that hangs.
	groupTime = 30 * time.Second
	// aloneLimit bounds what runs alone: taking a lease is quick, loading a backup
	// of a large cluster is not.
	aloneLimit = 6 * time.Hour
	// resolveLimit is how long we look for the outcome of a commit whose connection
	// broke before we say that we do not know it.
	resolveLimit = 20 * time.Second
	resolvePause = 250 * time.Millisecond
)

// writer owns the one connection that writes. All of it is used by the writer's
// goroutine only.
type writer struct {
	db     *database.Database
	log    *slog.Logger
	ttl    time.Duration
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt // prepared on conn
	lease  *Lease               // nil until acquired
	seq    int64                // of the last commit known to be durable, see resolve
	opened bool                 // a transaction is open on conn
	// changedBytes is about what its writes have changed so far.
	changedBytes int
	counts       *counts
	// nextWAL is the size of the write-ahead log, in bytes, at which it is emptied.
	nextWAL int64
}

// limitCommit gives PostgreSQL's commits a deadline. A local file gets none, and no context that
// ends: a disk that hangs cannot be interrupted, and watching for it costs a goroutine a statement.
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

// hangUp gives the connection back; a broken one is thrown away by the pool.
func (w *writer) hangUp() {
	w.closeStatements()
	if w.conn != nil {
		_ = w.conn.Close() // it may be gone already
	}
	w.conn, w.opened = nil, false
}

// closeStatements closes the statements, which must happen before their connection ends.
func (w *writer) closeStatements() {
	for _, st := range w.stmts {
		_ = st.Close() // the connection may be gone, and the statement with it
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

// beginGroup starts a group's transaction and proves that the epoch is still ours. The
// update locks the lease's row until the commit, so no other master can take over between
// the proof and the end. A connection that died while idle is replaced once:
// nothing has been sent on it, so nothing can be done twice.
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

// abortTransaction ends an open transaction without its effects. When even that is refused
// the connection goes, and the database ends the transaction itself.
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

// discardConnection makes the pool throw the connection away instead of lending it again in
// the middle of a transaction.
func (w *writer) discardConnection() {
	w.closeStatements()
	if w.conn != nil {
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // the answer is the one we gave
	}
	w.hangUp()
}

// commitGroup makes the group durable, or finds out whether it is.
func (w *writer) commitGroup(ctx context.Context) error {
	err := w.execQuery(ctx, "COMMIT")
	if err == nil {
		w.opened = false
		w.seq++
		w.counts.commits.Add(1)
		w.lease.markRenewed()
		return nil
	}
	// Even where the database itself said no we look: a wrong answer here would be
	// a write reported failed and done.
	w.abortTransaction(ctx)
	if w.db.Full(err) && !w.db.Timed {
		// SQLite had no room for the frame that would have made the group durable;
		// looking takes room, too.
		return w.classifyError(ctx, err)
	}
	return w.resolveCommit(ctx, err)
}

// resolveCommit answers whether the commit numbered seq+1 is durable. The number was
// written by that very commit, into a row that only the owner of the epoch writes:
// if it is there, so is everything else. The update waits for the lock of a backend
// that may still be committing on the broken connection.
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
			// Whatever became of it, its number must not be taken for the next one's.
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
