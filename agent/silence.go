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
	"github.com/det-deploy/det-deploy/delay"
)

// leaseLook is how often the lease is looked at. It is what the end of a container may
// be late by, of the five seconds that the master allows.
const leaseLook = 250 * time.Millisecond

// watchLease ends what the master starts elsewhere, once it has not answered for so
// long that it does, and what this agent's keeper was ending meanwhile.
func (a *Agent) watchLease(ctx context.Context, held *lease.Lease) {
	for delay.For(ctx, leaseLook) == nil {
		wait, over := held.Over()
		for _, u := range a.all() {
			switch {
			case over:
				u.Silence("no answer from the master for " + wait.String())
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
	return slices.ContainsFunc(a.all(), func(u *Task) bool {
		return u.Order.GetRerun() && u.View().State.State != lifecycle.Terminated
	})
}

// ensureKeeper comes before the start of a container that may be run again elsewhere: from
// then on it ends in time, whatever becomes of this agent.
func (u *Task) ensureKeeper() error {
	if !u.Order.GetRerun() {
		return nil
	}
	if err := u.keeper(); err != nil {
		u.Log.Warn("the container outlives a stop of this agent until a keeper can be started", "err", err)
	}
	if u.KeptOut() {
		u.Silence("the keeper was at it while this agent did not run")
		return errUnwanted
	}
	return nil
}

// KeptOut says that this agent's keeper ends the container, or has kept it from starting.
func (u *Task) KeptOut() bool { return u.Order.GetRerun() && u.entry.Silenced() }

// Silence kills a container that may be run again elsewhere.
func (u *Task) Silence(why string) {
	if !u.Order.GetRerun() {
		return
	}
	u.mu.Lock()
	first := !u.state.Silent && u.state.State != lifecycle.Terminated
	u.state.Silent = u.state.Silent || first
	u.mu.Unlock()
	if first {
		u.Log.Warn("ending what the master starts elsewhere", "because", why)
		u.RequestEnd(false, 0)
	}
}

// silenced replaces the end of a container that silence has killed: the code is not the
// program's own.
func (u *Task) silenced(exit lifecycle.Exit) lifecycle.Exit {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.state.Silent && !u.KeptOut() || exit.Kind == lifecycle.Exited && exit.Code != killedCode {
		return exit
	}
	return lifecycle.Exit{Kind: lifecycle.Lost, Silent: true, Message: "it had no answer from the master for the reconnect wait, and ended what is run again elsewhere"}
}

// killedCode is the code of a program that SIGKILL ended, as shells give it.
const killedCode = 128 + 9
