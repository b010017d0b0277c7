package agentrm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Forecast implements rm.Forecasts. It decides as the next pass would, with one more waiting allocation.
func (r *RM) Forecast(ctx context.Context, q rm.Request) (rm.Forecast, error) {
	return r.scheduler.forecast(ctx, q)
}

// forecastLimit bounds the wait for a pass, which takes milliseconds unless the master is starting.
const forecastLimit = 20 * time.Second

func (s *scheduler) forecast(ctx context.Context, q rm.Request) (rm.Forecast, error) {
	s.mu.Lock()
	e, err := s.queue.Preview(q)
	s.mu.Unlock()
	if err != nil {
		return rm.Forecast{}, fmt.Errorf("forecast allocation %s: %w", q.Allocation, err)
	}
	p, _ := s.cfg.findPool(e.Pool)
	ctx, cancel := context.WithTimeout(ctx, forecastLimit)
	defer cancel()
	snapshot, err := s.watchPass(ctx, p.Name)
	if err != nil {
		return rm.Forecast{}, fmt.Errorf("forecast allocation %s: %w", q.Allocation, err)
	}
	a, l, room := &allocation{Entry: e, phase: Queued}, s.lineUp(p), s.cfg.Room(p.Name)
	s.mu.Lock()
	one, able := s.forPass(p, l, a, room)
	s.mu.Unlock()
	out := rm.Forecast{Pool: e.Pool, Priority: e.Priority}
	if !able {
		a.waiting = forAbleAgent
	} else {
		snapshot.Allocations = append(slices.Clone(snapshot.Allocations), one)
		s.readDecision(&out, a, pool.Decide(snapshot, time.Now()))
	}
	if out.Waiting = s.describeWaiting(a); out.Waiting != "" && able {
		out.Launches = p.launchesFor(q, room)
	}
	return out, nil
}

// watchPass returns the input of the next pass over a pool.
func (s *scheduler) watchPass(ctx context.Context, name string) (pool.Pool, error) {
	next := make(chan pool.Pool, 1)
	s.mu.Lock()
	s.watchers[name] = append(s.watchers[name], next)
	s.mu.Unlock()
	s.passes.Wake()
	select {
	case snapshot := <-next:
		return snapshot, nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers[name] = slices.DeleteFunc(s.watchers[name], func(c chan<- pool.Pool) bool { return c == next })
		return pool.Pool{}, ctx.Err()
	}
}

// sendToWatchers passes the input of a pass to those who wait for it. They must not change it.
func (s *scheduler) sendToWatchers(snapshot pool.Pool, name string) {
	s.mu.Lock()
	watchers := s.watchers[name]
	delete(s.watchers, name)
	s.mu.Unlock()
	for _, c := range watchers {
		c <- snapshot
	}
}

// readDecision sets the placement of an allocation, or the reason why it would wait and the jobs that would
// be preempted for it.
func (s *scheduler) readDecision(out *rm.Forecast, a *allocation, d pool.Decision) {
	id := pool.AllocationID(a.Allocation)
	for _, start := range d.Start {
		if start.Allocation == id {
			out.Placement = sharesOf(start.Placement)
		}
	}
	for _, w := range d.Waiting {
		if w.Allocation == id {
			a.waiting = w.Reason
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range d.Preempt {
		if victim := s.findPlaced(v.Allocation); v.For == id && victim != nil {
			out.Preempts = append(out.Preempts, victim.toHolder())
		}
	}
}

func sharesOf(placement []pool.Share) []rm.Share {
	out := make([]rm.Share, 0, len(placement))
	for _, share := range placement {
		out = append(out, rm.Share{Agent: rm.AgentID(share.Agent), Slots: share.Slots})
	}
	return out
}

// toHolder returns the job of a placed allocation as an API message.
func (a *allocation) toHolder() *apiv1.SlotHolder {
	return &apiv1.SlotHolder{
		Id: cmp.Or(a.Entity, string(a.Task)), Name: cmp.Or(a.JobName, a.Name), Username: a.Username,
		Slots: int32(a.Slots), //nolint:gosec // the slots of a pool
	}
}

// describeWaiting returns the reason why an allocation that is not queued would wait, or "".
func (s *scheduler) describeWaiting(a *allocation) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.waiting == "" {
		return ""
	}
	text := string(a.waiting)
	for _, more := range []string{s.describeRefusing(a), s.describeSick(a.Pool)} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}

// launchesFor reports whether the machines that may still be launched for a pool have room for a request.
func (p Pool) launchesFor(q rm.Request, room []pool.Shape) bool {
	return len(room) > 0 && pool.Fits(pool.Capacity{MaxAux: p.MaxAux, Shapes: room}, q.Slots, q.SingleNode)
}
