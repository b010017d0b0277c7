package metric

import (
	"context"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/master/store"
)

// putReport stores a report and its encoded row; see Metrics.Put.
func (w *write) putReport(ctx context.Context, tx *store.Tx, r Report, row store.MetricRow) (s Stored, err error) {
	if r.Run > 1 && !IsProfiling(r.Group) { // the base of a run is known from its training reports
		if s.Removed, err = w.beginRun(tx, r.Run, r.Base); err != nil {
			return s, err
		}
	}
	if err := checkReplaced(r, w.begun); err != nil {
		return s, err
	}
	added, err := store.AddMetric(tx, row)
	switch {
	case err != nil:
		return s, err
	case !added:
		return s, w.mergeReport(ctx, tx, r, &s)
	}
	w.bytes += int64(len(row.Doc))
	s.Added, s.Merged = r.Values, r
	if r.Run == 1 && len(w.begun) == 0 {
		return s, nil // no other run, and therefore no other row
	}
	rows, err := rowsAt(ctx, tx, r.Trial, r.Group, r.Steps)
	if err != nil {
		return s, err
	}
	s.shared = len(rows) > 1
	s.Merged, err = mergeRuns(rows)
	return s, err
}

// mergeReport adds a report to the existing row of its run and step.
func (w *write) mergeReport(ctx context.Context, tx *store.Tx, r Report, s *Stored) error {
	rows, err := rowsAt(ctx, tx, r.Trial, r.Group, r.Steps)
	if err != nil {
		return err
	}
	s.shared = len(rows) > 1
	for i, row := range rows {
		if row.Run != r.Run {
			continue
		}
		have, err := decodeRow(row)
		if err != nil {
			return err
		}
		if have.Values, s.Added, err = have.addValues(r.Values); err != nil {
			return err
		}
		if !s.News() {
			continue
		}
		if rows[i], err = have.encodeRow(); err != nil {
			return err
		}
		if err := store.PutMetric(tx, rows[i]); err != nil {
			return err
		}
		w.bytes += int64(len(rows[i].Doc) - len(row.Doc))
	}
	s.Merged, err = mergeRuns(rows)
	return err
}

// checkReplaced returns a ReplacedError if a later run has replaced the report.
func checkReplaced(r Report, begun []run) error {
	for _, b := range begun {
		if b.run > r.Run && (r.Steps > b.base || IsProfiling(r.Group)) {
			return &ReplacedError{Report: r, By: b.run, Base: b.base}
		}
	}
	return nil
}

// beginRun records that a run continues from base and deletes the reports of earlier runs beyond it.
// It is idempotent.
func (w *write) beginRun(tx *store.Tx, number, base int64) (removed int64, err error) {
	if slices.ContainsFunc(w.begun, func(b run) bool { return b.run == number }) {
		return 0, nil
	}
	marker := store.MetricRow{Trial: w.trial, Steps: base, Run: number, Doc: []byte("{}")}
	if err := store.PutMetric(tx, marker); err != nil {
		return 0, fmt.Errorf("begin run %d of trial %d: %w", number, w.trial, err)
	}
	w.begun = append(slices.Clone(w.begun), run{run: number, base: base})
	removed, bytes, err := store.DeleteMetricsBeyond(tx, w.trial, number, base, ProfilingGroups())
	w.bytes -= bytes
	return removed, err
}
