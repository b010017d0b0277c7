package view

import (
	"context"
	"iter"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
)

// TaskLogs provides the logs of tasks in the cluster; task.Tasks implements it.
type TaskLogs interface {
	Ship(ctx context.Context, by *apiv1.User, r *apiv1.PostTaskLogsRequest) error
	Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error)
	Owner(ctx context.Context, id string) (userID int32, err error)
}

// Logs provides the logs of all tasks, including unmanaged trials.
type Logs struct {
	TaskLogs

	experiments *experiment.Experiments
	logs        *log.Logs
	now         func() time.Time
}

// NewLogs returns the logs of tasks and of unmanaged trials.
func NewLogs(tasks TaskLogs, x *experiment.Experiments, logs *log.Logs) *Logs {
	return &Logs{TaskLogs: tasks, experiments: x, logs: logs, now: time.Now}
}

// Ship stores log lines that a program sends itself. All lines must be of one task. It returns
// InvalidArgument, NotFound or PermissionDenied.
func (l *Logs) Ship(ctx context.Context, by *apiv1.User, r *apiv1.PostTaskLogsRequest) error {
	if len(r.GetLogs()) == 0 {
		return nil
	}
	task := r.GetLogs()[0].GetTaskId()
	where, found, err := l.experiments.ElsewhereTask(ctx, rm.TaskID(task))
	switch {
	case err != nil:
		return err
	case !found:
		return l.TaskLogs.Ship(ctx, by, r)
	case !by.GetAdmin() && by.GetId() != where.Owner:
		return status.New(status.PermissionDenied, "task %s belongs to another user's experiment %d: only its owner and administrators may write its log", task, where.Experiment)
	}
	return l.append(ctx, task, r.GetLogs())
}

// append stores lines with the time of their arrival, because the library sends the start time of
// the program with every line.
func (l *Logs) append(ctx context.Context, task string, lines []*apiv1.TaskLog) error {
	at := l.now()
	byRank := map[int32]*log.Batch{}
	var order []int32
	for i, m := range lines {
		level, err := log.ParseLevel(m.GetLevel())
		if err != nil {
			return status.New(status.InvalidArgument, "logs[%d].level: %v", i, err)
		}
		rank := int32(-1)
		if m.RankId != nil {
			rank = m.GetRankId()
		}
		b, found := byRank[rank]
		if !found {
			b = &log.Batch{Task: task}
			if rank >= 0 {
				b.Rank = new(int(rank))
			}
			byRank[rank], order = b, append(order, rank)
		}
		for _, text := range log.SplitReturns(m.GetLog()) {
			line := log.Line{At: at, Text: text, Level: level, Source: m.GetSource(), Stdtype: m.GetStdtype()}
			if level == log.Unspecified { // the library leaves the level in the text
				line = log.ReadHead(line)
			}
			b.Lines = append(b.Lines, line)
		}
	}
	for _, rank := range order {
		if err := l.logs.AppendUnsequenced(ctx, *byRank[rank]); err != nil {
			return err
		}
	}
	return nil
}

// Log returns the lines that match f. If follow is set, it continues until the trial has ended.
func (l *Logs) Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error) {
	where, found, err := l.experiments.ElsewhereTask(ctx, rm.TaskID(f.Task))
	switch {
	case err != nil:
		return nil, err
	case !found:
		return l.TaskLogs.Log(ctx, f, follow)
	case !follow || where.Ended:
		return l.logs.Query(ctx, f), nil
	}
	return func(yield func(log.Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for e, err := range l.logs.Follow(ctx, f, l.ended(ctx, where, f.Task)) {
			if !yield(e, err) {
				return
			}
		}
	}, nil
}

// lookEvery is the interval at which a followed unmanaged trial is checked for its end.
const lookEvery = time.Second

// ended returns a channel that is closed when the trial has ended or was deleted.
func (l *Logs) ended(ctx context.Context, where record.TrialTasks, task string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for found := true; found && !where.Ended; {
			if wait.For(ctx, lookEvery) != nil {
				return
			}
			var err error
			if where, found, err = l.experiments.ElsewhereTask(ctx, rm.TaskID(task)); err != nil {
				return
			}
		}
	}()
	return done
}

// Owner returns the ID of the user who owns a task, or NotFound.
func (l *Logs) Owner(ctx context.Context, id string) (int32, error) {
	if where, found, err := l.experiments.ElsewhereTask(ctx, rm.TaskID(id)); err != nil || found {
		return where.Owner, err
	}
	return l.TaskLogs.Owner(ctx, id)
}
