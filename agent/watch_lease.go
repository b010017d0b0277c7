package agent

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// leaseLook is the interval between checks of the lease. It delays the end of a container, for
// which the master allows five seconds.
const leaseLook = 250 * time.Millisecond

// watchLease ends preemptible tasks when the lease expires, because the master then starts them
// elsewhere.
func (a *Agent) watchLease(ctx context.Context, held *lease.Lease) {
	for wait.For(ctx, leaseLook) == nil {
		a.endOverdue(held)
	}
}

// endOverdue ends the tasks that may be restarted elsewhere if the lease has expired.
func (a *Agent) endOverdue(held *lease.Lease) {
	silent, over := held.Over()
	if !over {
		return
	}
	for _, u := range a.listTasks() {
		u.Silence("no answer from the master for " + silent.String())
	}
}
