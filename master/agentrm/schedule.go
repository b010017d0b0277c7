package agentrm

import (
	"context"
	"time"

	"github.com/google/uuid"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// loop looks whenever something has changed or a time has come, until ctx ends.
func (r *RM) loop(ctx context.Context) error {
	for {
		began := time.Now()
		next := r.look(began)
		// A pass over a long queue takes milliseconds; resting as long as it
		// took leaves half of a processor to those who fill the queue.
		rest := time.NewTimer(time.Since(began))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-rest.C:
		}
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		case <-due:
		}
	}
}

// look is one pass over all pools. It returns when to look again at the latest;
// zero is never.
func (r *RM) look(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.expire(now)
	for _, a := range r.allocations {
		next = earlier(next, a.changesAt(now))
	}
	for _, p := range r.cfg.Pools {
		scene := r.scene(p, now)
		d := pool.Decide(scene, now)
		r.carryOut(p, d, now)
		r.cfg.Decided(p.Name, scene, d)
		next = earlier(next, d.Wake)
	}
	r.notePass()
	return next
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// maxMargin is how much longer than an agent the master waits: an agent that has had
// no answer for the wait ends what is run again elsewhere, which takes a moment.
const maxMargin = 5 * time.Second

// patience is how long the containers of a lost agent are kept.
func (p Pool) patience() time.Duration { return p.ReconnectWait + min(maxMargin, p.ReconnectWait/2) }

// expire gives up agents that have been lost for too long.
func (r *RM) expire(now time.Time) (next time.Time) {
	for _, a := range r.agents {
		if a.presence != Lost {
			continue
		}
		p, _ := r.cfg.pool(a.pool)
		if until := a.since.Add(p.patience()); until.After(now) {
			next = earlier(next, until)
			continue
		}
		r.giveUpAgent(a, a.vanished(), now)
	}
	return next
}

// scene is a pool as the scheduler sees it. What is not to be placed yet is not in it.
func (r *RM) scene(p Pool, now time.Time) pool.Pool {
	scene := pool.Pool{Scheduler: p.Scheduler, MaxAux: p.MaxAux, Room: r.cfg.Room(p.Name)}
	for _, a := range r.agents {
		if a.pool != p.Name {
			continue
		}
		scene.Agents = append(scene.Agents, a.scheduled())
		if a.presence == Lost && a.state == rm.Enable && a.notice == nil && a.sick == nil {
			// It counts as a machine to come, so that a broken link of seconds
			// does not let lower priorities pass.
			scene.Room = append(scene.Room, pool.Shape{Slots: len(a.devices), Count: 1})
		}
	}
	scene.Allocations = r.scheduled(p, now)
	return scene
}

// scheduled are the allocations of a pool that may be placed now, as the scheduler sees
// them.
func (r *RM) scheduled(p Pool, now time.Time) []pool.Allocation {
	var out []pool.Allocation
	elsewhere := r.elsewhere(p)
	for _, a := range r.allocations {
		if a.Pool != p.Name || a.phase == Over || a.held(now) {
			continue
		}
		s := a.scheduled()
		if now.Before(a.avoidsUntil()) && elsewhere(a) {
			for _, id := range a.Avoid {
				s.Exclude = append(s.Exclude, pool.AgentID(id))
			}
		}
		out = append(out, s)
	}
	return out
}

// scheduled is the agent as the scheduler sees it.
func (a *agent) scheduled() pool.Agent {
	out := pool.Agent{
		ID: pool.AgentID(a.id), Enabled: a.presence == Connected && a.state != rm.Disable,
		Draining: a.leaves(), Lost: a.presence == Lost, Slots: make([]pool.Slot, 0, len(a.devices)),
	}
	for _, d := range a.devices {
		state := a.slot(int(d.GetId()))
		out.Slots = append(out.Slots, pool.Slot{
			ID: int(d.GetId()), Enabled: state != rm.Disable, Draining: state == rm.Drain,
		})
	}
	return out
}

func (r *RM) carryOut(p Pool, d pool.Decision, now time.Time) {
	for _, s := range d.Start {
		r.place(r.allocations[rm.AllocationID(s.Allocation)], s.Placement, now)
	}
	for _, v := range d.Preempt {
		a := r.allocations[rm.AllocationID(v.Allocation)]
		r.preempt(a, "preempted for "+string(v.For)+", which goes first in pool "+p.Name, now)
	}
	for _, id := range d.Kill {
		r.kill(r.allocations[rm.AllocationID(id)], rm.CausePreempted, "it did not stop in time after it was preempted")
	}
	for _, w := range d.Waiting {
		r.allocations[rm.AllocationID(w.Allocation)].waiting = w.Reason
	}
}

// place gives a queued allocation its containers, one on each agent.
func (r *RM) place(a *allocation, placement []pool.Share, now time.Time) {
	if err := a.transition(Placed); err != nil {
		r.cfg.Log.Error("place allocation", "allocation", a.Allocation, "err", err)
		return
	}
	a.waiting, a.placedAt = "", now
	for rank, share := range placement {
		agent := r.agents[rm.AgentID(share.Agent)]
		c := &container{
			id: rm.ContainerID(uuid.NewString()), allocation: a, agent: agent.id, rank: rank,
			state: apiv1.Container_STATE_ASSIGNED,
		}
		for _, slot := range share.Slots {
			c.devices = append(c.devices, agent.device(slot))
		}
		a.containers = append(a.containers, c)
		agent.containers[c.id] = c
		r.containers[c.id] = c
	}
	r.lanes.post(a.lane(), func(ctx context.Context) time.Duration { return r.launch(ctx, a) })
}

func (a *agent) device(slot int) *apiv1.Device {
	for _, d := range a.devices {
		if int(d.GetId()) == slot {
			return d
		}
	}
	return &apiv1.Device{Id: int32(slot)} //nolint:gosec // slots come from device ids, which are int32
}

// preempt asks an allocation to save itself and stop.
func (r *RM) preempt(a *allocation, reason string, now time.Time) {
	r.letGo(a, release{Cause: rm.CausePreempted, Reason: reason, By: now.Add(a.PreemptionTimeout)})
}

// letGo asks a placed allocation to save itself and stop in time. One that was
// asked before may only be given less time.
func (r *RM) letGo(a *allocation, why release) {
	switch {
	case a.release == nil:
		a.release = &why
	case a.release.Kill || !why.By.Before(a.release.By):
		return
	default:
		sooner := *a.release // an earlier one may be on its way to the store
		sooner.By = why.By
		a.release = &sooner
	}
	r.lanes.post(a.lane(), func(ctx context.Context) time.Duration { return r.tellOfPreemption(ctx, a) })
	r.stir()
}

// tellOfPreemption stores the wish, tells the owner, and sends SIGTERM to a
// program that does not listen for its owner's signal. It may be repeated.
func (r *RM) tellOfPreemption(ctx context.Context, a *allocation) time.Duration {
	if r.isOver(a) {
		return 0
	}
	if err := r.save(ctx, a); err != nil {
		return r.again(ctx, "store allocation", a, err)
	}
	r.mu.Lock()
	why := *a.release
	r.mu.Unlock()
	listens, err := r.cfg.Tasks.Preempted(ctx, a.Allocation, why.Reason, why.By)
	if err != nil {
		return r.again(ctx, "tell of preemption", a, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.release.terminate = !listens; !listens {
		for _, c := range a.containers {
			r.signalTerminate(c)
		}
	}
	return 0
}

// kill ends a placed allocation. The first cause stays.
func (r *RM) kill(a *allocation, cause rm.Cause, reason string) {
	if a.phase != Placed || a.killed() {
		return
	}
	if a.release == nil {
		a.release = &release{Cause: cause, Reason: reason}
	}
	a.release.Kill = true
	for _, c := range a.containers {
		r.signalKill(c)
	}
	r.lanes.post(a.lane(), func(ctx context.Context) time.Duration {
		if r.isOver(a) {
			return 0
		}
		if err := r.save(ctx, a); err != nil {
			return r.again(ctx, "store allocation", a, err)
		}
		return 0
	})
}
