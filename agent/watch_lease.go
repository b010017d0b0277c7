package agent

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// leaseLook is how often the lease is looked at. It is what the end of a container may
// be late by, of the five seconds that the master allows.
const leaseLook = 250 * time.Millisecond

// watchLease ends what the master starts elsewhere, once it has not answered for so
// long that it does.
func (a *Agent) watchLease(ctx context.Context, held *lease.Lease) {
	for wait.For(ctx, leaseLook) == nil {
		a.endOverdue(held)
	}
}

// endOverdue ends what may be run again elsewhere if the lease is over.
func (a *Agent) endOverdue(held *lease.Lease) {
	silent, over := held.Over()
	if !over {
		return
	}
	for _, u := range a.listTasks() {
		u.Silence("no answer from the master for " + silent.String())
	}
}
