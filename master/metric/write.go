package metric

import (
	"context"

	"github.com/det-deploy/det-deploy/master/store"
)

// write is what one transaction does to a trial.
type write struct {
	m     *Metrics
	trial int64
	t     *live
	begun []run
	names names
	// bytes is what it adds to what is stored.
	bytes int64
	// change is what becomes of the summary once the transaction is durable, nil for nothing.
	change func(Summary) Summary
}

// beginWrite opens a write that knows which runs have begun.
func (m *Metrics) beginWrite(ctx context.Context, tx *store.Tx, trial int64) (*write, error) {
	w, known := m.openWrite(tx, trial)
	if known {
		return w, nil
	}
	var err error
	if w.begun, err = readRuns(ctx, tx, trial); err != nil {
		return w, err
	}
	w.names, err = readNames(ctx, tx, trial)
	return w, err
}

// openWrite keeps what is known of a trial in step with what tx does to it. Transactions
// run one after the other, but end together: known says that no other is open, so that
// what is in memory is what the store holds.
func (m *Metrics) openWrite(tx *store.Tx, trial int64) (w *write, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.trials[trial]
	if t == nil {
		t = &live{}
		m.trials[trial] = t
	}
	known = t.known && t.open == 0
	t.open++
	w = &write{m: m, trial: trial, t: t, begun: t.begun, names: t.names}
	tx.OnEnd(w.end)
	return w, known
}

// noteChange says what becomes of the summary.
func (w *write) noteChange(tx *store.Tx, change func(Summary) Summary) error {
	w.change = change
	w.m.mu.Lock()
	unsaved := w.t.unsaved
	w.m.mu.Unlock()
	if unsaved {
		return nil
	}
	return summaries.Delete(tx, summaryID(w.trial))
}

// end is called once it is known what became of the transaction.
func (w *write) end(err error) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	t := w.t
	t.open--
	if err != nil { // it was not done, or that is not known
		t.summary, t.known = nil, false
		return
	}
	w.m.named += w.names.count() - t.names.count()
	t.begun, t.names, t.known = w.begun, w.names, true
	if w.change != nil {
		t.changes++
		t.unsaved = true
		if t.summary != nil {
			t.summary = w.change(t.summary)
		}
	}
	w.m.trimLive(w.trial)
}
