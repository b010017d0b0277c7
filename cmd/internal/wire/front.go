package wire

import (
	"context"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/task"
)

// front answers the server's questions about tasks from master/task. The server
// names the allocation whose token was shown; here it becomes the caller.
type front struct{ *task.Tasks }

var (
	_ server.Tasks    = front{}
	_ server.TaskLogs = front{}
)

func itself(allocation string) task.Caller {
	return task.Caller{Allocation: rm.AllocationID(allocation)}
}

// Commands implements server.Tasks.
func (f front) Commands() []*apiv1.Command { return f.Tasks.Commands(task.Filter{}) }

// Ready implements server.Tasks.
func (f front) Ready(ctx context.Context, allocation string) error {
	return f.Tasks.Ready(ctx, itself(allocation), allocation)
}

// Waiting implements server.Tasks.
func (f front) Waiting(ctx context.Context, allocation string) error {
	return f.Tasks.Waiting(ctx, itself(allocation), allocation)
}

// PreemptionSignal implements server.Tasks.
func (f front) PreemptionSignal(ctx context.Context, allocation string, timeout time.Duration) (bool, error) {
	return f.Tasks.PreemptionSignal(ctx, itself(allocation), allocation, timeout)
}

// Rendezvous implements server.Tasks.
func (f front) Rendezvous(ctx context.Context, allocation, container string, timeout time.Duration) (*apiv1.RendezvousInfo, error) {
	return f.Tasks.Rendezvous(ctx, itself(allocation), allocation, container, timeout)
}

// AckPreemption implements server.Tasks.
func (f front) AckPreemption(ctx context.Context, allocation string) error {
	return f.Tasks.AckPreemption(ctx, itself(allocation), allocation)
}

// PostAcceleratorData implements server.Tasks.
func (f front) PostAcceleratorData(allocation string, r *apiv1.PostAllocationAcceleratorDataRequest) error {
	return f.Tasks.PostAcceleratorData(itself(allocation), r)
}
