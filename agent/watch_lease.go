package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/agent/keeper"
	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/agent/task"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// leaseLook is how often the lease is looked at. It is what the end of a container may
// be late by, of the five seconds that the master allows.
const leaseLook = 250 * time.Millisecond

// watchLease ends what the master starts elsewhere, once it has not answered for so
// long that it does, and what this agent's keeper was ending meanwhile.
func (a *Agent) watchLease(ctx context.Context, held *lease.Lease) {
	for wait.For(ctx, leaseLook) == nil {
		silent, over := held.Over()
		for _, u := range a.listTasks() {
			switch {
			case over:
				u.Silence("no answer from the master for " + silent.String())
			case u.KeptOut():
				u.Silence("the keeper was at it while this agent did not run")
			}
		}
	}
}

// newKeeper is the process that ends what the master starts elsewhere when this agent
// cannot.
func (a *Agent) newKeeper(held *lease.Lease) (*keeper.Child, error) {
	dir, err := filepath.Abs(a.cfg.Settings.DataDir)
	if err != nil {
		return nil, fmt.Errorf("find data_dir: %w", err)
	}
	_, plainly := a.runtime.(plain)
	return &keeper.Child{
		Command: a.cfg.Keeper, Lease: held,
		Config: keeper.Config{DataDir: dir, Docker: !plainly, DockerHost: a.cfg.DockerHost},
	}, nil
}

// runsAgain says whether something here may be run again elsewhere.
func (a *Agent) runsAgain() bool {
	return slices.ContainsFunc(a.listTasks(), func(u *task.Task) bool {
		return u.Order.GetRerun() && u.View().State.State != lifecycle.Terminated
	})
}
