package metric

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/det-deploy/det-deploy/master/store"
)

// pageRows is the number of rows read at once.
const pageRows = 500

// run is a run that replaced the reports of earlier runs beyond its base.
type run struct{ run, base int64 }

// maxRuns limits the runs of a trial that are read.
const maxRuns = math.MaxInt32

func readRuns(ctx context.Context, r store.Reader, trial int64) ([]run, error) {
	rows, err := store.MetricRows(ctx, r, store.AllMetrics(trial, "", maxRuns))
	if err != nil {
		return nil, err
	}
	runs := make([]run, 0, len(rows))
	for _, row := range rows {
		runs = append(runs, run{run: row.Run, base: row.Steps})
	}
	return runs, nil
}

// Groups returns the sorted names of the groups that a trial has reported.
func Groups(ctx context.Context, r store.Reader, trial int64) ([]string, error) {
	groups, err := store.MetricGroups(ctx, r, trial)
	slices.Sort(groups)
	return groups, err
}

// Read yields the reports of a group in the order of their steps, starting after step after. If
// several runs reported a step, it yields one merged report in which the latest run takes
// precedence. It reads rows in pages and stops at the first error.
func Read(ctx context.Context, r store.Reader, trial int64, group string, after int64) iter.Seq2[Report, error] {
	return func(yield func(Report, error) bool) {
		q := store.AllMetrics(trial, group, pageRows)
		q.AfterSteps, q.AfterRun = after, math.MaxInt64
		var step []store.MetricRow // of one step, until its last run is read
		for {
			rows, err := store.MetricRows(ctx, r, q)
			if err != nil {
				yield(Report{}, err)
				return
			}
			for _, row := range rows {
				if len(step) > 0 && step[0].Steps != row.Steps {
					if !yield(mergeRuns(step)) {
						return
					}
					step = nil
				}
				step = append(step, row)
				q.AfterSteps, q.AfterRun = row.Steps, row.Run
			}
			if len(rows) < pageRows {
				break
			}
		}
		if len(step) > 0 {
			yield(mergeRuns(step))
		}
	}
}

// At returns the merged report of one step of a group, and false if the step was not reported.
func At(ctx context.Context, r store.Reader, trial int64, group string, steps int64) (report Report, found bool, err error) {
	rows, err := rowsAt(ctx, r, trial, group, steps)
	if err != nil || len(rows) == 0 {
		return report, false, err
	}
	report, err = mergeRuns(rows)
	return report, err == nil, err
}

// Latest returns the report of a group with the most steps, and false if the group has no reports.
func Latest(ctx context.Context, r store.Reader, trial int64, group string) (report Report, found bool, err error) {
	rows, err := store.LastMetricRows(ctx, r, trial, group)
	if err != nil || len(rows) == 0 {
		return report, false, err
	}
	report, err = mergeRuns(rows)
	return report, err == nil, err
}

func rowsAt(ctx context.Context, r store.Reader, trial int64, group string, steps int64) ([]store.MetricRow, error) {
	q := store.AllMetrics(trial, group, maxRuns)
	q.AfterSteps, q.AfterRun, q.ToSteps = steps, math.MinInt64, steps
	return store.MetricRows(ctx, r, q)
}

// mergeRuns merges the rows of a step, which are ordered by run. The value of the latest run takes
// precedence.
func mergeRuns(rows []store.MetricRow) (all Report, err error) {
	for i, row := range rows {
		r, err := decodeRow(row)
		if err != nil {
			return all, err
		}
		if i > 0 {
			earlier := all.Values
			maps.Copy(earlier.Averages, r.Values.Averages)
			r.Values.Averages = earlier.Averages
			if r.Values.Batches == nil {
				r.Values.Batches = earlier.Batches
			}
		}
		all = r
	}
	return all, nil
}
