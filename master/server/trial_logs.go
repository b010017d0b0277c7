package server

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/log"
)

// trialLogCalls serves the logs of trials, which are the concatenated logs of their tasks.
type trialLogCalls struct{ *logCalls }

func (l *trialLogCalls) routes() []route {
	if l.cfg.Trials == nil || l.cfg.Logs == nil {
		return nil
	}
	return []route{
		getRoute("trials/{trial}/logs", user, streamCall(l.shared, l.trialLogs)),
		getRoute("trials/{trial}/logs/fields", user, streamCall(l.shared, l.trialLogFields)),
	}
}

// The ID of a line in a trial's log consists of the index of the task and the ID of the line in the task's
// log.
const lineBits = 40

func lineNumber(task int, line int64) int64 { return int64(task)<<lineBits | line }

func (l *trialLogCalls) trialLogs(ctx context.Context, c *call, send func(*apiv1.TrialLogsResponse) error) error {
	f, follow := c.logFilter(), c.query().IsSet("follow")
	id, where, err := l.readableTrial(ctx, c)
	if err == nil {
		err = c.query().Err()
	}
	if err != nil {
		return err
	}
	if follow && (f.Limit > 0 || f.Order == log.Newest) {
		return status.New(status.InvalidArgument, "follow cannot be combined with limit or ORDER_BY_DESC")
	}
	for line, err := range l.trialLines(ctx, id, where, f, follow) {
		if err != nil {
			return err
		}
		if err := send(showTrialLine(id, line)); err != nil {
			return err
		}
	}
	return nil
}

// readableTrial returns the trial of a call if the caller may read its log.
func (l *trialLogCalls) readableTrial(ctx context.Context, c *call) (int32, record.TrialTasks, error) {
	id, err := c.trialID()
	if err != nil {
		return 0, record.TrialTasks{}, err
	}
	where, err := l.cfg.Trials.TrialTasks(ctx, id)
	if err != nil || c.owns(where.Owner) || (!l.cfg.PrivateLogs && c.inTask == "") {
		return id, where, err
	}
	return id, where, status.New(status.PermissionDenied, "the log of trial %d is visible only to its owner and administrators", id)
}

// trialLine is a line with its ID in the trial's log.
type trialLine struct {
	log.Entry
	number int64
}

// trialLines returns the lines of all tasks of a trial. With follow, they continue until the trial has
// ended; if it is continued in the meantime, the lines of its new task follow.
func (l *trialLogCalls) trialLines(ctx context.Context, id int32, where record.TrialTasks, f log.Filter, follow bool) iter.Seq2[trialLine, error] {
	if follow {
		return l.followTrial(ctx, id, where, f)
	}
	return func(yield func(trialLine, error) bool) {
		left := f.Limit
		for i := range where.Tasks {
			if f.Order == log.Newest {
				i = len(where.Tasks) - 1 - i
			}
			part := f
			part.Limit = left
			for e, err := range l.taskLines(ctx, where, i, part, false) {
				if status.Of(err) == status.NotFound {
					break
				}
				if !yield(e, err) || err != nil {
					return
				}
				if f.Limit == 0 {
					continue
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

// followPause is the polling interval for a trial whose next task has not started.
const followPause = 500 * time.Millisecond

func (l *trialLogCalls) followTrial(ctx context.Context, id int32, where record.TrialTasks, f log.Filter) iter.Seq2[trialLine, error] {
	return func(yield func(trialLine, error) bool) {
		for next := 0; ; {
			read, more := l.yieldTasks(ctx, where, next, f, yield)
			if next = read; !more || where.Ended || !pauseFor(ctx, followPause) {
				return
			}
			var err error
			if where, err = l.cfg.Trials.TrialTasks(ctx, id); err != nil {
				yield(trialLine{}, err)
				return
			}
		}
	}
}

// yieldTasks follows the tasks from next on, each until it has ended, and returns the index of the first
// task that has not started.
func (l *trialLogCalls) yieldTasks(ctx context.Context, where record.TrialTasks, next int, f log.Filter, yield func(trialLine, error) bool) (then int, more bool) {
	for ; next < len(where.Tasks); next++ {
		for e, err := range l.taskLines(ctx, where, next, f, true) {
			if status.Of(err) == status.NotFound {
				return next, true
			}
			if !yield(e, err) || err != nil {
				return next, false
			}
		}
	}
	return next, true
}

// pauseFor waits for d. It returns false if ctx ends before.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// taskLines returns the lines of one task of a trial. It returns none if all of them are before f.From. If
// the task has not started, the error has the code NotFound.
func (l *trialLogCalls) taskLines(ctx context.Context, where record.TrialTasks, i int, f log.Filter, follow bool) iter.Seq2[trialLine, error] {
	return func(yield func(trialLine, error) bool) {
		from, to := f.From-lineNumber(i, 0), f.To-lineNumber(i, 0)
		if from >= 1<<lineBits || f.To > 0 && to <= 0 {
			return
		}
		f.Task, f.From, f.To = where.Tasks[i], max(from, 0), max(to, 0)
		for e, err := range l.logEntries(ctx, f, follow) {
			if !yield(trialLine{e, lineNumber(i, e.ID)}, err) {
				return
			}
		}
	}
}

// showTrialLine converts a line to an API message.
func showTrialLine(trial int32, l trialLine) *apiv1.TrialLogsResponse {
	t := showEntry(l.Entry)
	return &apiv1.TrialLogsResponse{
		Id: strconv.FormatInt(l.number, 10), Timestamp: timestamppb.New(l.At), Message: t.GetMessage(), Level: t.GetLevel(), TrialId: trial,
		AgentId: t.AgentId, ContainerId: t.ContainerId, RankId: t.RankId, Log: &t.Log, Source: t.Source, Stdtype: t.Stdtype,
		Partial: t.Partial,
	}
}

// trialLogFields sends the values by which the log can be filtered. With follow, it sends the complete set
// again whenever it grows.
func (l *trialLogCalls) trialLogFields(ctx context.Context, c *call, send func(*apiv1.TrialLogsFieldsResponse) error) error {
	follow := c.query().IsSet("follow")
	id, where, err := l.readableTrial(ctx, c)
	if err == nil {
		err = c.query().Err()
	}
	if err != nil {
		return err
	}
	fields, next := &logFields{}, int64(0)
	for e, err := range l.trialLines(ctx, id, where, log.Filter{}, false) {
		if err != nil {
			return err
		}
		fields.add(e.Entry)
		next = e.number + 1
	}
	if err := send(showTrialFields(fields)); err != nil || !follow {
		return err
	}
	for e, err := range l.trialLines(ctx, id, where, log.Filter{From: next}, true) {
		if err != nil {
			return err
		}
		if !fields.add(e.Entry) {
			continue
		}
		if err := send(showTrialFields(fields)); err != nil {
			return err
		}
	}
	return nil
}

func showTrialFields(f *logFields) *apiv1.TrialLogsFieldsResponse {
	return &apiv1.TrialLogsFieldsResponse{
		AgentIds: slices.Clone(f.agents), ContainerIds: slices.Clone(f.containers), RankIds: slices.Clone(f.ranks),
		Stdtypes: slices.Clone(f.stdtypes), Sources: slices.Clone(f.sources),
	}
}
