package task

import (
	"context"
	"fmt"
	"math"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// containerSource is how lines that a container printed are marked in a log.
const containerSource = "task"

// logWriter writes what containers and programs print into the logs of their tasks.
type logWriter struct{ *shared }

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
	now := w.cfg.Now()
	for i, line := range l.GetLines() {
		b.Lines[i] = log.ReadHead(log.Line{
			At: agentv1.Instant(line.GetAtUs(), now), Stdtype: line.GetStdtype(), Source: containerSource, Text: string(line.GetText()),
		})
	}
	if err := w.watchLines(ctx, e, a, b); err != nil {
		return 0, err
	}
	next, err := w.cfg.Logs.Append(ctx, b)
	if gap, is := asGap(err); is {
		// The agent is told what is missing and sends from there.
		return uint64(gap.Want), nil
	}
	if err != nil {
		return 0, fmt.Errorf("log of task %s: %w", a.Task, err)
	}
	return uint64(next), nil
}

// NextSeq implements rm.Logs. An append of nothing asks the log.
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

// rankOf is a container's rank, nil for the only one.
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
