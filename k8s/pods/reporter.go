package pods

import (
	"cmp"
	"context"
	"time"

	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// reporter reports events to the owner of tasks.
type reporter struct {
	cfg   Config
	state *state
}

// retryLater logs a retry and returns its delay.
func (r *reporter) retryLater(ctx context.Context, what string, a *allocation, err error) time.Duration {
	if ctx.Err() == nil {
		r.cfg.Log.Warn("retrying after an error", "operation", what, "allocation", a.Allocation, "err", err)
	}
	return retryAfter
}

// patience is how long an allocation must wait for a reason before it is reported, because most
// wait very briefly. An undone attempt is always reported.
const patience = time.Second

// reportWaiting reports the reason why an allocation waits, once.
func (r *reporter) reportWaiting(ctx context.Context, a *allocation) time.Duration {
	r.state.mu.Lock()
	kind, reason, next, told, since := a.waitKind, a.waiting, a.until, a.reported, a.waitSince
	r.state.mu.Unlock()
	if kind == "" || kind == told {
		return 0
	}
	now := time.Now()
	if left := patience - now.Sub(since); left > 0 && kind != waitsUndone {
		return left
	}
	if err := r.cfg.Tasks.Waits(ctx, a.Allocation, rm.Wait{Kind: kind, Reason: reason, At: now, Next: next}); err != nil {
		return r.retryLater(ctx, "report the reason for waiting", a, err)
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	a.reported = kind
	return 0
}

// reportState reports a state that the owner does not know.
func (r *reporter) reportState(ctx context.Context, a *allocation, c *container, s observe.Container) error {
	if s.State <= c.state {
		return nil
	}
	change := rm.ContainerChange{
		Allocation: a.Allocation, Container: c.id, Agent: c.node, Rank: c.rank,
		State: s.State, Exit: s.Exit, Addresses: s.Addresses, At: time.Now(),
	}
	if s.State == apiv1.Container_STATE_RUNNING {
		change.Host = s.Host
	}
	err := r.cfg.Tasks.Changed(ctx, change)
	if err != nil {
		return err
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	c.state = s.State
	return nil
}

// reportTrouble reports to the owner why a container of a running allocation does not start, and
// clears that when it has started.
func (r *reporter) reportTrouble(ctx context.Context, a *allocation) time.Duration {
	r.state.mu.Lock()
	trouble := ""
	for _, c := range a.containers {
		if !c.hasEnded() && a.release == nil {
			trouble = cmp.Or(trouble, c.trouble)
		}
	}
	if trouble != "" {
		r.state.setWaiting(a, waitsStart, trouble)
	} else {
		a.waiting, a.waitKind, a.reported = "", "", ""
	}
	r.state.mu.Unlock()
	return r.reportWaiting(ctx, a)
}

// reportEnd reports the end of an allocation.
func (r *reporter) reportEnd(ctx context.Context, a *allocation) time.Duration {
	r.state.mu.Lock()
	end := rm.End{Cause: rm.CauseExited, Reason: "all containers have ended", At: time.Now()}
	if a.release != nil {
		end.Cause, end.Reason, end.Stopped = a.release.Cause, a.release.Reason, a.stopped
	}
	r.state.mu.Unlock()
	if err := r.cfg.Tasks.Ended(ctx, a.Allocation, end); err != nil {
		return r.retryLater(ctx, "report the end", a, err)
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if err := a.moveTo(Over, end.At); err != nil {
		r.cfg.Log.Error("end allocation", "allocation", a.Allocation, "err", err)
	}
	r.state.queue.End(a.Allocation)
	r.state.enqueueAllocation(a.Allocation)
	r.state.wakeSoon()
	return 0
}

// reportUndone reports why an attempt is undone, before another reason replaces it.
func (r *reporter) reportUndone(ctx context.Context, a *allocation) time.Duration {
	r.state.mu.Lock()
	undone := a.waitKind == waitsUndone && a.release == nil
	r.state.mu.Unlock()
	if !undone {
		return 0
	}
	return r.reportWaiting(ctx, a)
}
