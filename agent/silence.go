package agent

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/agent/link"
)

// leaseLook is how often the lease is looked at. It is what the end of a container may
// be late by, of the five seconds that the master allows.
const leaseLook = 250 * time.Millisecond

// watchLease ends what the master starts elsewhere, once it has not answered for so
// long that it does.
func (a *Agent) watchLease(ctx context.Context, lease *link.Lease) {
	for pause(ctx, leaseLook) == nil {
		wait, over := lease.Over()
		if !over {
			continue
		}
		for _, u := range a.all() {
			u.silence(wait)
		}
	}
}

// silence kills a container that may be run again elsewhere.
func (u *unit) silence(wait time.Duration) {
	if !u.order.GetRerun() {
		return
	}
	u.mu.Lock()
	first := !u.state.Silent && u.state.State != lifecycle.Terminated
	u.state.Silent = u.state.Silent || first
	u.mu.Unlock()
	if first {
		u.log.Warn("no answer from the master; ending what it starts elsewhere", "wait", wait)
		u.ask(false, 0)
	}
}

// silenced replaces the end of a container that silence has killed: the code is not the
// program's own.
func (u *unit) silenced(exit lifecycle.Exit) lifecycle.Exit {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.state.Silent || exit.Kind == lifecycle.Exited && exit.Code != killedCode {
		return exit
	}
	return lifecycle.Exit{Kind: lifecycle.Lost, Silent: true, Message: "it had no answer from the master for the reconnect wait, and ended what is run again elsewhere"}
}

// killedCode is the code of a program that SIGKILL ended, as shells give it.
const killedCode = 128 + 9
