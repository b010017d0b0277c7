package store

import (
	"context"
	"errors"
	"fmt"
)

// journal is the statements that a transaction has carried out, so that they can be repeated
// without those of a write that failed. A savepoint for each write would do the same, and costs
// SQLite a copy of every page that is changed and PostgreSQL a round trip.
type journal struct {
	list []statement
	// bytes is about what the list keeps in memory.
	bytes int
	// on is false where nothing could be repeated: a write that is alone is undone with its transaction.
	on bool
}

// statement is one that has changed so many rows.
type statement struct {
	query string
	args  []any
	rows  int64
}

// journalLimit bounds what is kept of a transaction. Beyond it the transaction ends, and the writes that
// are left make the next.
const journalLimit = 8 << 20

func (j *journal) note(query string, args []any, rows int64) {
	if !j.on {
		return
	}
	j.list = append(j.list, statement{query, args, rows})
	for _, a := range args {
		switch v := a.(type) {
		case []byte:
			j.bytes += len(v)
		case string:
			j.bytes += len(v)
		}
	}
}

// runGroup commits the writes that their callers still wait for, in as few transactions as it can, and
// answers each.
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
	w.kept = journal{}
}

// runPart commits the first writes of a group as one and answers them; the rest is what is left for the
// next transaction. A write that fails after it has changed something ends the transaction: the statements
// of those before it are repeated in another, so that none of them is run twice.
func (w *writer) runPart(ctx context.Context, group []*request) (rest []*request) {
	ctx, cancel := w.limitCommit(ctx)
	defer cancel()
	if err := w.beginGroup(ctx); err != nil {
		answerAll(group, err)
		return nil
	}
	w.kept = journal{on: len(group) > 1}
	errs := make([]error, 0, len(group))
	for i, r := range group {
		before := len(w.kept.list)
		end, err := w.runOne(ctx, r)
		switch end {
		case transactionLost:
			// No caller's write is done: the transaction is gone with its connection.
			w.abortTransaction(ctx)
			answerAll(group, w.classifyError(ctx, err))
			return nil
		case mustUndo:
			w.abortTransaction(ctx)
			r.answer(err)
			if w.kept.list = w.kept.list[:before]; i > 0 {
				answerEach(group[:i], errs, w.repeatStatements(ctx, group[:i], errs))
			}
			return group[i+1:]
		case canCommit:
		}
		if errs = append(errs, err); w.kept.bytes > journalLimit {
			break
		}
	}
	answerEach(group[:len(errs)], errs, w.commitCounted(ctx, group[:len(errs)], errs))
	return group[len(errs):]
}

func answerAll(group []*request, err error) {
	for _, r := range group {
		r.answer(err)
	}
}

// answerEach answers those that have not failed by themselves with what became of the transaction.
func answerEach(group []*request, errs []error, commit error) {
	for i, r := range group {
		if errs[i] != nil {
			r.answer(errs[i])
		} else {
			r.answer(commit)
		}
	}
}

// outcome is what a write leaves behind.
type outcome string

const (
	canCommit       outcome = "can commit"       // it is done, or has failed without a change
	mustUndo        outcome = "must undo"        // it has failed behind a change, or a statement was refused
	transactionLost outcome = "transaction lost" // and with it what all writes of the group did
)

// runOne calls the request's fn inside the transaction.
func (w *writer) runOne(ctx context.Context, r *request) (end outcome, err error) {
	tx := &Tx{ctx: ctx, w: w, r: r}
	err = r.fn(tx)
	if tx.over = true; tx.changed {
		w.counts.writes.Add(1)
	}
	if err == nil && tx.err != nil {
		err = fmt.Errorf("a statement of this write was refused: %w", tx.err)
	}
	switch {
	// A full disk may have ended the transaction.
	case tx.err != nil && (w.db.Unavailable(tx.err) || w.db.Full(tx.err)):
		return transactionLost, err
	case tx.err != nil, err != nil && tx.changed:
		return mustUndo, err
	}
	return canCommit, err
}

// errRepeated means that a statement did not do again what it did before.
var errRepeated = errors.New("a statement that is repeated without the writes behind it changes other rows than before; nothing was written")

// repeatStatements commits what is kept of a transaction that was undone, in another, with what its writes
// count.
func (w *writer) repeatStatements(ctx context.Context, group []*request, errs []error) error {
	if err := w.beginGroup(ctx); err != nil {
		return err
	}
	for _, s := range w.kept.list {
		rows, err := w.changeRows(ctx, s.query, s.args...)
		if err == nil && rows != s.rows {
			err = errRepeated
		}
		if err != nil {
			w.abortTransaction(ctx)
			return w.classifyError(ctx, err)
		}
	}
	return w.commitCounted(ctx, group, errs)
}
