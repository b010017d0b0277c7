package task

import (
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// programs implements the calls of the processes of a task.
type programs struct {
	*shared

	records *records
	runs    *runs
}

// allocationNamed returns an allocation. Its error has the code NotFound.
func (p *programs) allocationNamed(ctx context.Context, id string) (*entry, lifecycle.Allocation, error) {
	e, a, found, err := p.findAllocation(ctx, rm.AllocationID(id))
	if err == nil && !found {
		err = status.Missing("allocation", id)
	}
	return e, a, err
}

// PreemptionSignal reports whether the allocation has to checkpoint and stop. It waits up to timeout for
// that, and returns at once if it has been preempted or has ended.
func (p *programs) PreemptionSignal(ctx context.Context, id string, timeout time.Duration) (bool, error) {
	e, a, err := p.allocationNamed(ctx, id)
	if err != nil {
		return false, err
	}
	if !a.Listens {
		if err := p.reportState(ctx, id, lifecycle.Allocation.Listen); err != nil {
			return false, err
		}
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		s, news := e.watchChanges()
		a, _ := s.allocationByID(rm.AllocationID(id))
		if a.Preempted != nil || a.Over() || timeout <= 0 {
			return a.Preempted != nil, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-timer.C:
			return false, nil
		case <-news:
		}
	}
}

// AckPreemption records that the program has seen the signal and will stop.
func (p *programs) AckPreemption(ctx context.Context, id string) error {
	return p.reportState(ctx, id, lifecycle.Allocation.Acknowledge)
}

// Ready records that the program is ready to serve.
func (p *programs) Ready(ctx context.Context, id string) error {
	now := p.cfg.Now()
	return p.reportState(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Report(true, now) })
}

// Waiting records that the program has nothing to serve yet.
func (p *programs) Waiting(ctx context.Context, id string) error {
	now := p.cfg.Now()
	return p.reportState(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Report(false, now) })
}

func (p *programs) reportState(ctx context.Context, id string, change func(lifecycle.Allocation) lifecycle.Allocation) error {
	if _, _, err := p.allocationNamed(ctx, id); err != nil {
		return err
	}
	err := p.records.changeAllocation(ctx, rm.AllocationID(id), change)
	return err
}

// MarkDaemon records that the allocation need not wait for the end of a container: when all others have
// ended, it is killed. Its error has the code NotFound.
func (p *programs) MarkDaemon(ctx context.Context, id, container string) error {
	e, a, err := p.allocationNamed(ctx, id)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(a.Containers, func(c lifecycle.Container) bool { return string(c.ID) == container }) {
		return status.Missing("resources", excerpt.Of(container))
	}
	err = p.reportState(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.MarkDaemon(rm.ContainerID(container)) })
	if err != nil {
		return err
	}
	return p.runs.killDoomed(ctx, p.reg.managerOf(), e)
}

// FindAllocation returns an allocation. Its error has the code NotFound.
func (p *programs) FindAllocation(ctx context.Context, id string) (*apiv1.Allocation, error) {
	e, a, err := p.allocationNamed(ctx, id)
	if err != nil {
		return nil, err
	}
	return showAllocation(e.latestSnapshot().task, a), nil
}

// PostAcceleratorData accepts a container's report about its accelerators. It is not stored, because no
// client reads it.
func (p *programs) PostAcceleratorData(ctx context.Context, req *apiv1.PostAllocationAcceleratorDataRequest) error {
	if _, _, err := p.allocationNamed(ctx, req.GetAllocationId()); err != nil {
		return err
	}
	if d := req.GetAcceleratorData(); d.GetAllocationId() != "" && d.GetAllocationId() != req.GetAllocationId() {
		return status.New(status.InvalidArgument, "acceleratorData.allocationId: must be %q (is %q)", req.GetAllocationId(), excerpt.Of(d.GetAllocationId()))
	}
	return nil
}

// lateAfter is the time that a container waits for the others before its task's log names the missing
// ones: shorter than a user's patience, but longer than starting a present image takes.
const lateAfter = 30 * time.Second

// Rendezvous returns the addresses of the other containers of an allocation to a container. It waits up
// to timeout until all of them have asked; then it fails with the code Unavailable, after which clients
// ask again.
func (p *programs) Rendezvous(ctx context.Context, id, container string, timeout time.Duration) (*apiv1.RendezvousInfo, error) {
	e, a, err := p.allocationNamed(ctx, id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(a.Containers, func(c lifecycle.Container) bool { return string(c.ID) == container }) {
		return nil, status.Missing("resources", excerpt.Of(container))
	}
	meet := func(a lifecycle.Allocation) lifecycle.Allocation { return a.Meet(rm.ContainerID(container)) }
	if err := p.reportState(ctx, id, meet); err != nil {
		return nil, err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	late := time.NewTicker(p.cfg.LateAfter)
	defer late.Stop()
	for {
		s, news := e.watchChanges()
		a, _ := s.allocationByID(rm.AllocationID(id))
		r, complete, err := a.Rendezvous(rm.ContainerID(container))
		switch {
		case err != nil:
			return nil, status.New(status.FailedPrecondition, "%s", err)
		case complete:
			return showRendezvous(r), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, status.New(status.Unavailable, "not all containers of allocation %s are ready; try again", id)
		case <-late.C:
			now := p.cfg.Now()
			err := p.reportState(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.NoteMissing(now) })
			if err != nil {
				return nil, err
			}
		case <-news:
		}
	}
}

func showRendezvous(r lifecycle.Rendezvous) *apiv1.RendezvousInfo {
	out := &apiv1.RendezvousInfo{Addresses: r.Addresses, Rank: int32(r.Rank)} //nolint:gosec // ranks of one allocation
	for _, n := range r.Slots {
		out.Slots = append(out.Slots, int32(n)) //nolint:gosec // slots of one container
	}
	return out
}
