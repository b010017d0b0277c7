package task

import (
	"context"
	"fmt"
	"math"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Ship stores lines that a program inside a task sends itself, all for one task. By is the owner, even
// if the lines came with the task's own token. The errors have the codes InvalidArgument, NotFound and
// PermissionDenied.
func (w *logWriter) Ship(ctx context.Context, by *apiv1.User, req *apiv1.PostTaskLogsRequest) error {
	lines := req.GetLogs()
	if len(lines) == 0 {
		return nil
	}
	task := lines[0].GetTaskId()
	e, found, err := w.findTask(ctx, rm.TaskID(task))
	if err == nil && !found {
		err = status.Missing("task", task)
	}
	if err != nil {
		return err
	}
	if err := checkAllowed(by, e.latestSnapshot().task, "write to the log of"); err != nil {
		return err
	}
	var batches []log.Batch
	for i, l := range lines {
		if a := rm.AllocationID(l.GetAllocationId()); a != "" && taskOf(a) != rm.TaskID(task) {
			return status.New(status.InvalidArgument, "logs[%d].allocation_id: %q is not of task %q", i, excerpt.Of(a), task)
		}
		line, err := shipped(l)
		if err != nil {
			return status.New(status.InvalidArgument, "logs[%d].level: %v", i, err)
		}
		for _, text := range log.SplitReturns(line.Text) {
			line.Text = text
			batches = addLine(batches, l, readHead(line, l))
		}
	}
	for _, b := range batches {
		if a, found := e.latestSnapshot().allocationByID(rm.AllocationID(b.Allocation)); found {
			if err := w.watchLines(ctx, e, a, b); err != nil {
				return err
			}
		}
		if err := w.cfg.Logs.AppendUnsequenced(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func shipped(l *apiv1.TaskLog) (log.Line, error) {
	level, err := log.ParseLevel(l.GetLevel())
	line := log.Line{Stdtype: l.GetStdtype(), Level: level, Source: l.GetSource(), Text: l.GetLog()}
	if l.GetTimestamp() != nil {
		line.At = l.GetTimestamp().AsTime()
	}
	return line, err
}

// readHead parses the rank and the level of a line unless the sender has, as the log shipper of the
// client's library does.
func readHead(line log.Line, l *apiv1.TaskLog) log.Line {
	if l.RankId != nil || line.Level != log.Unspecified {
		return line
	}
	return log.ReadHead(line)
}

// addLine adds a line to the last batch if both are of one container, or to a new batch.
func addLine(list []log.Batch, l *apiv1.TaskLog, line log.Line) []log.Batch {
	b := log.Batch{
		Task: l.GetTaskId(), Allocation: l.GetAllocationId(), Container: l.GetContainerId(), Agent: l.GetAgentId(),
	}
	if l.RankId != nil {
		rank := int(l.GetRankId())
		b.Rank = &rank
	}
	if n := len(list); n > 0 {
		last := &list[n-1]
		sameRank := (last.Rank == nil) == (b.Rank == nil) && (b.Rank == nil || *last.Rank == *b.Rank)
		if last.Allocation == b.Allocation && last.Container == b.Container && last.Agent == b.Agent && sameRank {
			last.Lines = append(last.Lines, line)
			return list
		}
	}
	b.Lines = []log.Line{line}
	return append(list, b)
}

// containerSource is the source of lines that a container printed.
const containerSource = "task"

// logWriter writes the output of containers and programs into the logs of their tasks.
type logWriter struct {
	*shared

	records *records
}

// AppendLogs implements rm.Logs.
func (w *logWriter) AppendLogs(ctx context.Context, agent rm.AgentID, l *agentv1.Logs) (uint64, error) {
	all := l.GetFirstSeq() + uint64(len(l.GetLines()))
	e, a, found, err := w.findAllocation(ctx, rm.AllocationID(l.GetAllocationId()))
	if err != nil {
		return 0, err
	}
	if !found || all > math.MaxInt64 {
		return all, nil
	}
	b := log.Batch{
		Task: string(a.Task), Allocation: string(a.ID), Container: l.GetContainerId(), Agent: string(agent),
		Rank: rankOf(a, rm.ContainerID(l.GetContainerId())), FirstSeq: int64(l.GetFirstSeq()),
		Lines: make([]log.Line, len(l.GetLines())),
	}
	now, read := w.cfg.Now(), log.ReadHead
	if !kindOf(e.latestSnapshot().task.Kind).owned {
		read = log.ReadExactHead // `task run` prints what its program has written
	}
	for i, line := range l.GetLines() {
		b.Lines[i] = read(log.Line{
			At: agentv1.Instant(line.GetAtUs(), now), Stdtype: line.GetStdtype(), Source: containerSource, Text: string(line.GetText()),
			Partial: line.GetPartial(),
		})
	}
	if err := w.watchLines(ctx, e, a, b); err != nil {
		return 0, err
	}
	next, err := w.cfg.Logs.Append(ctx, b)
	if gap, is := asGap(err); is {
		// The agent sends again from the first missing line.
		return uint64(gap.Want), nil
	}
	if err != nil {
		return 0, fmt.Errorf("log of task %s: %w", a.Task, err)
	}
	return uint64(next), nil
}

// NextSeq implements rm.Logs. It appends an empty batch to learn the number.
func (w *logWriter) NextSeq(ctx context.Context, id rm.AllocationID, container rm.ContainerID) (uint64, error) {
	_, a, found, err := w.findAllocation(ctx, id)
	if err != nil || !found {
		return 0, err
	}
	next, err := w.cfg.Logs.Append(ctx, log.Batch{Task: string(a.Task), Allocation: string(id), Container: string(container)})
	if err != nil {
		return 0, fmt.Errorf("log of task %s: %w", a.Task, err)
	}
	return uint64(next), nil
}

// rankOf returns a container's rank, or nil if it is the only one.
func rankOf(a lifecycle.Allocation, id rm.ContainerID) *int {
	if len(a.Containers) < 2 {
		return nil
	}
	for _, c := range a.Containers {
		if c.ID == id {
			return &c.Rank
		}
	}
	return nil
}
