package metric

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// Metrics stores the metrics of trials. It is safe for concurrent use. A store must have only one
// Metrics.
type Metrics struct {
	store *store.Store
	quota *quota.Quota

	mu sync.Mutex // guards the fields below
	// trials are the trials that reported since the master started.
	trials map[int64]*live
	// named counts the names of all trials in memory.
	named int
	// trimmed counts the trials that were removed from memory although they may report again.
	trimmed uint64
}

// live is the cached state of a reporting trial. It equals the stored state while no write is open.
type live struct {
	// open counts the writes in progress, changes the committed changes.
	open    int
	changes uint64
	// summary is nil until it is requested.
	summary Summary
	// begun lists the runs that replaced earlier ones; known reports whether it was loaded.
	begun []run
	known bool
	// names are the names that the trial has reported, loaded together with begun.
	names names
	// unsaved reports that the store contains no summary of the trial.
	unsaved bool
}

// mostLive and mostNamed limit the trials in memory, which take some kilobytes each and about 100
// bytes for each name.
const (
	mostLive  = 10_000
	mostNamed = 1_000_000
)

// summaries are the stored summaries of trials. They are written on the first request and deleted
// with the next report.
var summaries = store.Collection[Summary]{Kind: "metric_summary"}

// Open returns the metrics in s.
func Open(s *store.Store) *Metrics {
	return &Metrics{store: s, trials: map[int64]*live{}}
}

// LimitUsers counts reports towards the quota of their owners. It must be called before the first
// Put.
func (m *Metrics) LimitUsers(q *quota.Quota) { m.quota = q }

// Put stores a report in the caller's transaction. It is idempotent. If it returns ErrInvalid,
// ErrConflict, ErrReplaced or ResourceExhausted, the report is not stored and the transaction may
// continue.
func (m *Metrics) Put(ctx context.Context, tx *store.Tx, r Report) (Stored, error) {
	r, row, err := r.prepare()
	if err != nil {
		return Stored{}, err
	}
	if err := m.quota.Check(r.Owner, 0); err != nil {
		return Stored{}, err
	}
	w, err := m.beginWrite(ctx, tx, r.Trial)
	if err != nil {
		return Stored{}, err
	}
	named, grown, err := w.names.add(r)
	if err != nil {
		return Stored{}, &InvalidError{Report: r, Err: err}
	}
	s, err := w.putReport(ctx, tx, r, row)
	m.quota.Add(tx, r.Owner.ID, quota.Metrics, w.bytes)
	if err == nil && grown {
		err = w.keepNames(tx, named)
	}
	if !s.News() && s.Removed == 0 {
		return s, err
	}
	return s, cmp.Or(err, w.noteChange(tx, func(known Summary) Summary {
		if s.Removed > 0 || s.shared {
			return nil // values were removed or replaced, so that the summary must be recomputed
		}
		known.addReport(r.Group, r.Steps, s.Added.Averages)
		return known
	}))
}

// Delete deletes all metrics of a trial, which were counted for owner.
func (m *Metrics) Delete(tx *store.Tx, trial int64, owner int32) error {
	w, _ := m.openWrite(tx, trial)
	bytes, err := store.DeleteMetrics(tx, trial)
	if err != nil {
		return err
	}
	m.quota.Add(tx, owner, quota.Metrics, -bytes)
	if err := nameDocs.Delete(tx, summaryID(trial)); err != nil {
		return err
	}
	w.begun, w.names = nil, nil
	return w.noteChange(tx, forgetSummary)
}

func forgetSummary(Summary) Summary { return nil }

// trimLive removes trials from memory while there are too many. They are loaded again on demand.
func (m *Metrics) trimLive(but int64) {
	if len(m.trials) <= mostLive && m.named <= mostNamed {
		return
	}
	for trial, t := range m.trials {
		if trial == but || t.open > 0 {
			continue
		}
		delete(m.trials, trial)
		m.named -= t.names.count()
		m.trimmed++
		if len(m.trials) <= mostLive && m.named <= mostNamed {
			return
		}
	}
}

func summaryID(trial int64) string { return strconv.FormatInt(trial, 10) }

// Summary returns the summary of a trial's metrics. The caller must not modify it.
func (m *Metrics) Summary(ctx context.Context, trial int64) (Summary, error) {
	known, before := m.lookUp(trial)
	if known != nil {
		return known, nil
	}
	d, found, err := summaries.Get(ctx, m.store, summaryID(trial))
	if err != nil || found && d.Value.count() <= maxNames { // earlier versions stored more names
		return d.Value, err
	}
	s, err := summarize(ctx, m.store, trial)
	if err != nil || before.open > 0 {
		return s, err
	}
	return s, m.keepSummary(ctx, trial, s, before)
}

// moment identifies a state of a trial in memory, to detect changes.
type moment struct {
	live             bool
	open             int
	changes, trimmed uint64
}

func (m *Metrics) momentOf(trial int64) moment {
	if t := m.trials[trial]; t != nil {
		return moment{live: true, open: t.open, changes: t.changes, trimmed: m.trimmed}
	}
	return moment{trimmed: m.trimmed}
}

// lookUp returns the summary in memory, or nil, and the current moment.
func (m *Metrics) lookUp(trial int64) (known Summary, now moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now = m.momentOf(trial)
	if now.live && now.open == 0 && m.trials[trial].summary != nil {
		known = m.trials[trial].summary.clone()
	}
	return known, now
}

// keepSummary caches the summary of a trial that has not changed since: in memory if the trial
// reports, otherwise in the store.
func (m *Metrics) keepSummary(ctx context.Context, trial int64, s Summary, since moment) error {
	if since.live {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.momentOf(trial) == since {
			m.trials[trial].summary = s.clone()
		}
		return nil
	}
	err := m.store.Write(ctx, func(tx *store.Tx) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.momentOf(trial) != since {
			return nil
		}
		return summaries.Put(tx, summaryID(trial), "", time.Time{}, s)
	})
	if err != nil {
		return fmt.Errorf("keep the summary of metrics of trial %d: %w", trial, err)
	}
	return nil
}

// summarize computes the summary from all reports of a trial.
func summarize(ctx context.Context, r store.Reader, trial int64) (Summary, error) {
	groups, err := Groups(ctx, r, trial)
	if err != nil {
		return nil, err
	}
	s := Summary{}
	for _, group := range groups {
		if IsProfiling(group) {
			continue
		}
		for report, err := range Read(ctx, r, trial, group, -1) {
			if err != nil {
				return nil, err
			}
			s.addReport(group, report.Steps, maps.Clone(report.Values.Averages))
		}
	}
	return s, nil
}
