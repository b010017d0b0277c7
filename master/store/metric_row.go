package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/det-deploy/det-deploy/master/store/archive"
)

// MetricRow is a report of a run for one step of one group. Package metric defines the format of
// Doc.
type MetricRow struct {
	Trial int64
	Group string
	Steps int64
	Run   int64
	// At is the time of the report in microseconds.
	At  int64
	Doc []byte
}

const metricInsert = "INSERT INTO metrics (trial, grp, steps, run, at, doc) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (trial, grp, steps, run) DO "

// AddMetric adds a row unless one with the same trial, group, steps and run exists. It reports
// whether it added the row.
func AddMetric(tx *Tx, m MetricRow) (added bool, err error) {
	n, err := writeMetric(tx, metricInsert+"NOTHING", m)
	return n > 0, err
}

// PutMetric writes a row and replaces an existing one with the same trial, group, steps and run.
func PutMetric(tx *Tx, m MetricRow) error {
	_, err := writeMetric(tx, metricInsert+"UPDATE SET at = excluded.at, doc = excluded.doc", m)
	return err
}

func writeMetric(tx *Tx, query string, m MetricRow) (rows int64, err error) {
	if err = archive.CheckText("group", m.Group); err == nil {
		rows, err = tx.changeRows(query, m.Trial, m.Group, m.Steps, m.Run, m.At, m.Doc)
	}
	if err != nil {
		return 0, fmt.Errorf("put metrics of trial %d, group %q, step %d: %w", m.Trial, m.Group, m.Steps, err)
	}
	return rows, nil
}

// MetricRange selects rows of one group of a trial, ordered by steps and run.
type MetricRange struct {
	Trial int64
	Group string
	// AfterSteps and AfterRun exclude the row with these keys and all rows before it.
	AfterSteps, AfterRun int64
	// ToSteps is the last step to read.
	ToSteps int64
	// Limit is the maximum number of rows; it must be positive.
	Limit int
}

// AllMetrics returns a range of all rows of a group with a page size of limit.
func AllMetrics(trial int64, group string, limit int) MetricRange {
	return MetricRange{Trial: trial, Group: group, AfterSteps: math.MinInt64, ToSteps: math.MaxInt64, Limit: limit}
}

const metricColumns = "SELECT trial, grp, steps, run, at, doc FROM metrics "

// MetricRows returns a page of rows.
func MetricRows(ctx context.Context, r Reader, q MetricRange) ([]MetricRow, error) {
	if q.Limit <= 0 {
		return nil, fmt.Errorf("read metrics of trial %d: limit: must be positive (%d)", q.Trial, q.Limit)
	}
	return readMetrics(ctx, r, q.Trial, metricColumns+"WHERE trial = ? AND grp = ? AND (steps, run) > (?, ?) AND steps <= ? "+
		"ORDER BY steps, run LIMIT ?", q.Trial, q.Group, q.AfterSteps, q.AfterRun, q.ToSteps, q.Limit)
}

// LastMetricRows returns the rows of the greatest step of a group, ordered by run.
func LastMetricRows(ctx context.Context, r Reader, trial int64, group string) ([]MetricRow, error) {
	return readMetrics(ctx, r, trial, metricColumns+"WHERE trial = ? AND grp = ? AND steps = "+
		"(SELECT MAX(steps) FROM metrics WHERE trial = ? AND grp = ?) ORDER BY run", trial, group, trial, group)
}

func readMetrics(ctx context.Context, r Reader, trial int64, query string, args ...any) ([]MetricRow, error) {
	var all []MetricRow
	err := r.queryRows(ctx, query, args, func(rows *sql.Rows) error {
		var m MetricRow
		err := rows.Scan(&m.Trial, &m.Group, &m.Steps, &m.Run, &m.At, &m.Doc)
		all = append(all, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read metrics of trial %d: %w", trial, err)
	}
	return all, nil
}

// MetricGroups returns the groups of a trial's rows without duplicates, in no particular order, and
// without the empty group. It reads only one row of each group.
func MetricGroups(ctx context.Context, r Reader, trial int64) ([]string, error) {
	var groups []string
	for last := ""; ; {
		var next sql.NullString
		err := r.queryRows(ctx, "SELECT MIN(grp) FROM metrics WHERE trial = ? AND grp > ?", []any{trial, last},
			func(rows *sql.Rows) error { return rows.Scan(&next) })
		if err != nil {
			return nil, fmt.Errorf("read metric groups of trial %d: %w", trial, err)
		}
		if !next.Valid {
			return groups, nil
		}
		last = next.String
		groups = append(groups, last)
	}
}

// DeleteMetricsBeyond deletes the rows of runs before run with steps greater than steps, and all
// rows of these runs in the profiling groups. It returns the number of deleted rows and the size of
// their documents in bytes.
func DeleteMetricsBeyond(tx *Tx, trial, run, steps int64, profiling []string) (rows, bytes int64, err error) {
	rows, bytes, err = deleteMetrics(tx, "trial = ? AND grp <> '' AND run < ? AND steps > ?", trial, run, steps)
	for _, group := range profiling {
		if err == nil {
			var n, more int64
			n, more, err = deleteMetrics(tx, "trial = ? AND grp = ? AND run < ?", trial, group, run)
			rows, bytes = rows+n, bytes+more
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("delete metrics of trial %d before run %d beyond step %d: %w", trial, run, steps, err)
	}
	return rows, bytes, nil
}

// DeleteMetrics deletes all rows of a trial. It returns the size of their documents in bytes without
// those of the empty group.
func DeleteMetrics(tx *Tx, trial int64) (bytes int64, err error) {
	_, bytes, err = deleteMetrics(tx, "trial = ? AND grp <> ''", trial)
	if err == nil {
		err = tx.execQuery("DELETE FROM metrics WHERE trial = ?", trial)
	}
	if err != nil {
		return 0, fmt.Errorf("delete metrics of trial %d: %w", trial, err)
	}
	return bytes, nil
}

func deleteMetrics(tx *Tx, where string, args ...any) (rows, bytes int64, err error) {
	err = tx.queryRows(tx.ctx, "SELECT COALESCE(SUM(LENGTH(doc)), 0) FROM metrics WHERE "+where, args,
		func(r *sql.Rows) error { return r.Scan(&bytes) })
	if err == nil {
		rows, err = tx.changeRows("DELETE FROM metrics WHERE "+where, args...)
	}
	return rows, bytes, err
}

// MetricBytesByTrial returns the size of each trial's documents in bytes without those of the empty
// group. It scans the whole table.
func MetricBytesByTrial(ctx context.Context, r Reader) (map[int64]int64, error) {
	of := map[int64]int64{}
	err := r.queryRows(ctx, "SELECT trial, SUM(LENGTH(doc)) FROM metrics WHERE grp <> '' GROUP BY trial", nil, func(rows *sql.Rows) error {
		var trial, n int64
		err := rows.Scan(&trial, &n)
		of[trial] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the sizes of all metrics: %w", err)
	}
	return of, nil
}
