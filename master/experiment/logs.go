package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// SweepLogs deletes the logs of trials whose retention has expired. The retention in days is that of
// the trial, otherwise that of the experiment, otherwise days; -1 keeps logs forever. It returns the
// joined errors of all experiments.
func (r *reconciler) SweepLogs(ctx context.Context, now time.Time, days int) error {
	var errs []error
	for _, e := range r.reg.all() {
		x := e.snapshot()
		if isOpen(x) || x.LogsDropped || !x.TrialLogDays && !isDue(x.Ended, daysOf(days, x.LogDays), now) {
			continue
		}
		errs = append(errs, r.sweepExperiment(ctx, e, now, days))
	}
	return errors.Join(errs...)
}

func (r *reconciler) sweepExperiment(ctx context.Context, e *entry, now time.Time, days int) error {
	docs, err := record.Docs().Trials.ByParent(ctx, r.cfg.Store, record.Key(e.id))
	if err != nil {
		return fmt.Errorf("read the trials of experiment %d: %w", e.id, err)
	}
	left := 0
	for _, d := range docs {
		if !isDue(d.Value.Ended, daysOf(days, e.snapshot().LogDays, d.Value.LogDays), now) {
			left++
			continue
		}
		for _, id := range d.Value.Tasks {
			if err := r.cfg.Tasks.DropLog(ctx, rm.TaskID(id)); err != nil {
				return err
			}
		}
	}
	if left > 0 {
		return nil
	}
	return r.submit(ctx, e, &job{light: true, do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		d.Record.LogsDropped = !isOpen(d.Record)
		return nil
	}})
}

// daysOf returns the last value that is set, or days.
func daysOf(days int, more ...*int) int {
	for _, m := range more {
		if m != nil {
			days = *m
		}
	}
	return days
}

func isDue(ended time.Time, days int, now time.Time) bool {
	return days >= 0 && !ended.IsZero() && !now.Before(ended.Add(time.Duration(days)*24*time.Hour))
}

// logEnd writes the end of a run to the trial's log, and the lines because of which it is not repeated
// in the words of Determined 0.38.1.
func (r *runs) logEnd(ctx context.Context, t record.Trial) {
	if t.LastEnd == nil {
		return
	}
	level := log.Info
	if t.Life.State == lifecycle.Error {
		level = log.Error
	}
	id := rm.TaskID(t.Task())
	r.writeLine(ctx, id, level, fmt.Sprintf("run %d of trial %d ended: %s", t.LastEnd.Run, t.ID, t.Reason))
	if m := t.Matched; level == log.Error && m != nil && m.NoRetry && m.Run == t.LastEnd.Run {
		r.writeLine(ctx, id, log.Error, "trial failed and matched logs to a don't retry policy")
		for _, c := range m.Causes {
			r.writeLine(ctx, id, log.Error, fmt.Sprintf("(log %q matched regex %q)", c.Line, c.Pattern))
		}
	}
}

// writeLine writes a line to a trial's log. Errors are only logged, because the line is informational.
func (r *runs) writeLine(ctx context.Context, id rm.TaskID, level log.Level, text string) {
	if err := r.cfg.Tasks.Write(ctx, id, level, text); err != nil {
		r.cfg.Log.Warn("cannot write to the log of a trial", "task_id", id, "err", err)
	}
}

// The actions of log policies.
const (
	cancelRetries container.PolicyAction = "cancel_retries"
	excludeNode   container.PolicyAction = "exclude_node"
)

// LogPolicies implements task.LogWatcher.
func (r *runs) LogPolicies(_ context.Context, id rm.TaskID) ([]container.LogPolicy, error) {
	e, err := r.ofTask(id)
	if err != nil {
		return nil, nil //nolint:nilerr // the experiment was deleted
	}
	var list []container.LogPolicy
	e.readOpen(func(x *change.Experiment) { list = x.Config.LogPolicies })
	return list, nil
}

// shownLine is the number of characters of a log line that a log policy's own lines repeat.
const shownLine = 256

// LogMatched implements task.LogWatcher. It writes the exclusion of a node to the trial's log in the
// words of Determined 0.38.1.
func (r *runs) LogMatched(ctx context.Context, m task.LogMatch) error {
	e, err := r.ofTask(m.Task)
	if err != nil {
		return nil //nolint:nilerr // the experiment was deleted
	}
	match := record.Match{Policy: m.Policy.Name, Run: m.Run}
	line := excerpt.UpTo(strings.TrimRight(m.Line, "\r\n"), shownLine)
	switch m.Policy.Action {
	case cancelRetries:
		match.NoRetry, match.Causes = true, []record.MatchedLine{{Pattern: m.Policy.Pattern, Line: line}}
	case excludeNode:
		match.Excluded = []string{string(m.Agent)}
	}
	isNew := false
	err = r.submit(ctx, e, &job{do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		before := len(d.Events)
		if t, found := d.TrialOfTask(string(m.Task)); found {
			d.Runs().Match(t.ID, match)
		}
		isNew = len(d.Events) > before
		return nil
	}})
	if err == nil && isNew && m.Policy.Action == excludeNode {
		r.writeLine(ctx, m.Task, log.Error, fmt.Sprintf("(log '%q' matched regex %s) therefore will not schedule on %s", line, m.Policy.Pattern, m.Agent))
	}
	return err
}
