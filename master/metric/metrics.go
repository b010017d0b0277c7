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

// Metrics keeps what trials report. It is safe for concurrent use, and the only one of
// its store.
type Metrics struct {
	store *store.Store
	quota *quota.Quota

	mu sync.Mutex // guards below
	// trials are those that reported since the master started.
	trials map[int64]*live
	// named counts the names of all these.
	named int
	// trimmed counts those that were forgotten while they may still report.
	trimmed uint64
}

// live is a trial that reports. What is known of it is what the store holds while no
// write is open.
type live struct {
	// open is how many writes have begun with it and not ended, changes how many changed it.
	open    int
	changes uint64
	// summary is nil until it was asked for.
	summary Summary
	// begun is the runs that replaced earlier ones; known says that it was read.
	begun []run
	known bool
	// names is what it has reported, as begun.
	names names
	// unsaved says that no summary of it is in the store.
	unsaved bool
}

// mostLive and mostNamed bound the summaries in memory, some kilobytes each or 100 bytes a name.
const (
	mostLive  = 10_000
	mostNamed = 1_000_000
)

// summaries are those of trials that reported nothing since: they are written when they
// are first asked for, and removed with the next report.
var summaries = store.Collection[Summary]{Kind: "metric_summary"}

// Open keeps metrics in s.
func Open(s *store.Store) *Metrics {
	return &Metrics{store: s, trials: map[int64]*live{}}
}

// LimitUsers counts the reports of each user, and refuses further ones of a user who may store nothing more. It is
// called before anything is put.
func (m *Metrics) LimitUsers(q *quota.Quota) { m.quota = q }

// Put stores a report inside the caller's transaction. The same report twice changes
// nothing. A refused one (ErrInvalid, ErrConflict, ErrReplaced, or with the code ResourceExhausted) is not
// stored, and the transaction may continue.
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
			return nil // values were taken out or replaced: count again
		}
		known.addReport(r.Group, r.Steps, s.Added.Averages)
		return known
	}))
}

// Delete removes all metrics of a trial, which were counted for a user.
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

// trimLive forgets trials while there are too many; what is forgotten is read again.
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

// Summary is what became of each metric of a trial. It must not be changed.
func (m *Metrics) Summary(ctx context.Context, trial int64) (Summary, error) {
	known, before := m.lookUp(trial)
	if known != nil {
		return known, nil
	}
	d, found, err := summaries.Get(ctx, m.store, summaryID(trial))
	if err != nil || found && d.Value.count() <= maxNames { // an earlier version stored longer ones
		return d.Value, err
	}
	s, err := summarize(ctx, m.store, trial)
	if err != nil || before.open > 0 {
		return s, err
	}
	return s, m.keepSummary(ctx, trial, s, before)
}

// moment is what tells whether a trial has changed since.
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

// lookUp is the summary in memory, nil for none, and what moment this is.
func (m *Metrics) lookUp(trial int64) (known Summary, now moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now = m.momentOf(trial)
	if now.live && now.open == 0 && m.trials[trial].summary != nil {
		known = m.trials[trial].summary.clone()
	}
	return known, now
}

// keepSummary keeps the summary of a trial that has not changed since: in memory when it
// reports, else in the store.
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

// summarize reads all of a trial.
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
