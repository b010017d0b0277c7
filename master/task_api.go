package master

import (
	"context"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/task"
)

// taskAPI answers the server's questions about tasks from master/task. The server
// names the allocation whose token was shown; here it becomes the caller.
type taskAPI struct{ *task.Tasks }

var (
	_ server.Tasks    = taskAPI{}
	_ server.TaskLogs = taskAPI{}
)

func itself(allocation string) task.Caller {
	return task.Caller{Allocation: rm.AllocationID(allocation)}
}

// Commands implements server.Tasks.
func (f taskAPI) Commands() []*apiv1.Command { return f.Tasks.Commands(task.Filter{}) }

// Ready implements server.Tasks.
func (f taskAPI) Ready(ctx context.Context, allocation string) error {
	return f.Tasks.Ready(ctx, itself(allocation), allocation)
}

// Waiting implements server.Tasks.
func (f taskAPI) Waiting(ctx context.Context, allocation string) error {
	return f.Tasks.Waiting(ctx, itself(allocation), allocation)
}

// PreemptionSignal implements server.Tasks.
func (f taskAPI) PreemptionSignal(ctx context.Context, allocation string, timeout time.Duration) (bool, error) {
	return f.Tasks.PreemptionSignal(ctx, itself(allocation), allocation, timeout)
}

// Rendezvous implements server.Tasks.
func (f taskAPI) Rendezvous(ctx context.Context, allocation, container string, timeout time.Duration) (*apiv1.RendezvousInfo, error) {
	return f.Tasks.Rendezvous(ctx, itself(allocation), allocation, container, timeout)
}

// AckPreemption implements server.Tasks.
func (f taskAPI) AckPreemption(ctx context.Context, allocation string) error {
	return f.Tasks.AckPreemption(ctx, itself(allocation), allocation)
}

// PostAcceleratorData implements server.Tasks.
func (f taskAPI) PostAcceleratorData(allocation string, r *apiv1.PostAllocationAcceleratorDataRequest) error {
	return f.Tasks.PostAcceleratorData(itself(allocation), r)
}
