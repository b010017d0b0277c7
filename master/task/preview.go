package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// mostPreempts is the number of jobs that a preview names as preempted.
const mostPreempts = 10

// Preview checks a command like Launch, and returns where it would be placed now, or why it would wait.
// Nothing is changed. Its errors are those of Launch.
func (l *launches) Preview(ctx context.Context, user *apiv1.User, req *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error) {
	return l.PreviewKind(ctx, lifecycle.Command, user, req)
}

// PreviewKind is Preview for a task of a kind.
func (l *launches) PreviewKind(ctx context.Context, k lifecycle.Kind, user *apiv1.User, req *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error) {
	if req.GetArray() != nil {
		return nil, status.New(status.InvalidArgument, "array: a preview is of one task; omit the array")
	}
	if err := l.policies.checkMayRun(user); err != nil {
		return nil, err
	}
	manager := l.reg.managerOf()
	if manager == nil {
		return nil, errStarting()
	}
	task, cfg, err := l.acceptTask(ctx, manager, draft{id: taskID(user, ""), kind: k, user: user, req: req}, 1)
	if err != nil {
		return nil, err
	}
	l.reg.usage.releaseTasks(task.UserID, 1)
	shown, err := spec.Show(cfg, task.Priority)
	if err != nil {
		return nil, err
	}
	out := &apiv1.PreviewCommandResponse{
		Config: shown, Warnings: task.Warnings, ResourcePool: task.Pool, Exceeds: task.Exceeds,
		Slots: int32(task.Slots), //nolint:gosec // checked by acceptTask
	}
	for _, p := range manager.Pools() {
		if p.GetName() == task.Pool {
			out.SlotPrice = p.GetSlotPrice()
		}
	}
	if m, ok := manager.(rm.Forecasts); ok {
		out.Placement, err = l.forecast(ctx, m, manager, task)
	}
	return out, err
}

func (l *launches) forecast(ctx context.Context, m rm.Forecasts, manager rm.ResourceManager, task lifecycle.Task) (*apiv1.CommandPlacement, error) {
	f, err := m.Forecast(ctx, l.policies.requestOf(task, lifecycle.First(task, task.Submitted)))
	if err != nil {
		return nil, fmt.Errorf("preview command: %w", err)
	}
	out := &apiv1.CommandPlacement{Priority: int32(f.Priority), Reason: f.Waiting, Launches: f.Launches} //nolint:gosec // 1 to 99
	for _, share := range f.Placement {
		part := &apiv1.PlacedPart{AgentId: string(share.Agent)}
		for _, slot := range share.Slots {
			part.Slots = append(part.Slots, int32(slot)) //nolint:gosec // limited by the link
		}
		out.Parts = append(out.Parts, part)
	}
	named := min(len(f.Preempts), mostPreempts)
	out.Preempts, out.MorePreempts = f.Preempts[:named], int32(len(f.Preempts)-named) //nolint:gosec // jobs of one pool
	if f.Waiting != "" {
		out.Queue = placeOfNew(manager.Queue(rm.QueuePart{Pool: f.Pool}), f.Priority, task.Slots > 0)
	}
	return out, nil
}

// placeOfNew returns the place of a new job among the jobs of a pool of agents, in serving order: behind
// those of the same priority.
func placeOfNew(jobs []*apiv1.Job, priority int, needsSlots bool) *apiv1.QueuePlace {
	at := slices.IndexFunc(jobs, func(j *apiv1.Job) bool { return int(j.GetPriority()) > priority })
	if at < 0 {
		at = len(jobs)
	}
	return placeAt(jobs, at, needsSlots)
}
