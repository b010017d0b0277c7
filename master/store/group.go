package store

import (
	"context"
	"errors"
	"fmt"
)

// groupBytes limits the changes of one commit, so that a write does not wait long for the others.
// Further writes are committed in the next transaction.
const groupBytes = 8 << 20

// runGroup commits the writes whose callers are still waiting, in as few transactions as possible,
// and answers them.
func (w *writer) runGroup(ctx context.Context, group []*request) {
	begun := group[:0]
	for _, r := range group {
		if r.begin() {
			begun = append(begun, r)
		} else {
			r.answer(r.ctx.Err())
		}
	}
	for len(begun) > 0 {
		begun = w.runPart(ctx, begun)
	}
}

// runPart commits the first writes of a group in one transaction and answers them. It returns the
// others. Each write has a savepoint, so that a failed write is rolled back alone.
func (w *writer) runPart(ctx context.Context, group []*request) (rest []*request) {
	ctx, cancel := w.limitCommit(ctx)
	defer cancel()
	if err := w.beginGroup(ctx); err != nil {
		answerAll(group, err)
		return nil
	}
	w.changedBytes = 0
	var errs []error
	for len(errs) < len(group) && w.changedBytes <= groupBytes {
		err, lost := w.runOne(ctx, group[len(errs)])
		if lost != nil {
			// The transaction was lost, and with it all writes.
			w.abortTransaction(ctx)
			answerAll(group, w.classifyError(ctx, lost))
			return nil
		}
		errs = append(errs, err)
	}
	part, rest := group[:len(errs)], group[len(errs):]
	commit := w.commitCounted(ctx, part, errs)
	for i, r := range part {
		if errs[i] != nil {
			r.answer(errs[i])
		} else {
			r.answer(commit)
		}
	}
	return rest
}

func answerAll(group []*request, err error) {
	for _, r := range group {
		r.answer(err)
	}
}

// runOne runs a write inside a savepoint and rolls it back if it fails. The error lost reports that
// the transaction was lost, and with it all writes of the group.
func (w *writer) runOne(ctx context.Context, r *request) (err, lost error) {
	if err := w.execQuery(ctx, "SAVEPOINT one"); err != nil {
		return nil, err
	}
	tx := &Tx{ctx: ctx, w: w, r: r}
	err = r.fn(tx)
	if tx.over = true; tx.changed {
		w.counts.writes.Add(1)
	}
	if err == nil && tx.err != nil {
		err = fmt.Errorf("a statement of this write failed: %w", tx.err)
	}
	// A full disk may have ended the transaction.
	if tx.err != nil && (w.db.Unavailable(tx.err) || w.db.Full(tx.err)) {
		return nil, err
	}
	if err != nil {
		if lost := w.execQuery(ctx, "ROLLBACK TO SAVEPOINT one"); lost != nil {
			return nil, errors.Join(err, lost) // SQLite may have ended the transaction because of err
		}
	}
	return err, w.execQuery(ctx, "RELEASE SAVEPOINT one")
}
