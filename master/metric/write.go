package metric

import (
	"context"

	"github.com/det-deploy/det-deploy/master/store"
)

// write is the change of a trial by one transaction.
type write struct {
	m     *Metrics
	trial int64
	t     *live
	begun []run
	names names
	// bytes is the change of the stored size.
	bytes int64
	// change updates the summary after the commit; it may be nil.
	change func(Summary) Summary
}

// beginWrite opens a write with the known runs and names of the trial.
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

// openWrite registers a write, so that the trial in memory follows the transaction. Transactions run
// one after the other but commit in groups. The result known reports that no other write is open, so
// that the state in memory equals that of the store.
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

// noteChange sets the change of the summary.
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

// end updates the trial in memory after the transaction has ended.
func (w *write) end(err error) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	t := w.t
	t.open--
	if err != nil { // rolled back, or the outcome is unknown
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
