package store

import (
	"context"
	"fmt"
)

// runGroup commits the writes that their callers still wait for as one, and answers each. Each has a savepoint,
// so that one that fails is undone alone.
func (w *writer) runGroup(ctx context.Context, group []*request) {
	begun := group[:0]
	for _, r := range group {
		if r.begin() {
			begun = append(begun, r)
		} else {
			r.answer(r.ctx.Err())
		}
	}
	if len(begun) == 0 {
		return
	}
	ctx, cancel := w.limitCommit(ctx)
	defer cancel()
	if err := w.beginGroup(ctx); err != nil {
		answerAll(begun, err)
		return
	}
	errs := make([]error, len(begun))
	for i, r := range begun {
		var lost error
		if errs[i], lost = w.runOne(ctx, r); lost != nil {
			// No caller's write is done: the transaction is gone.
			w.abortTransaction(ctx)
			answerAll(begun, w.classifyError(ctx, lost))
			return
		}
	}
	commit := w.commitCounted(ctx, begun, errs)
	for i, r := range begun {
		if errs[i] != nil {
			r.answer(errs[i])
		} else {
			r.answer(commit)
		}
	}
}

func answerAll(group []*request, err error) {
	for _, r := range group {
		r.answer(err)
	}
}

// runOne calls the request's fn behind a savepoint, and goes back to it when fn fails. lost says why the
// transaction is gone, and with it what all writes of the group did.
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
		err = fmt.Errorf("a statement of this write was refused: %w", tx.err)
	}
	// A full disk may have ended the transaction.
	if tx.err != nil && (w.db.Unavailable(tx.err) || w.db.Full(tx.err)) {
		return nil, err
	}
	if err != nil {
		if lost := w.execQuery(ctx, "ROLLBACK TO SAVEPOINT one"); lost != nil {
			return nil, lost
		}
	}
	return err, w.execQuery(ctx, "RELEASE SAVEPOINT one")
}
