package task

import (
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Rendezvous answers a container where the others of its allocation are. It waits until
// all of them have started, for at most timeout; then the error has the code
// Unavailable, after which clients ask again.
func (p *programs) Rendezvous(ctx context.Context, id, container string, timeout time.Duration) (*apiv1.RendezvousInfo, error) {
	e, _, err := p.findAllocation(id)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		s, news := e.watch()
		a, _ := s.allocation(rm.AllocationID(id))
		if !slices.ContainsFunc(a.Containers, func(c lifecycle.Container) bool { return string(c.ID) == container }) {
			return nil, status.Missing("resources", excerpt.Of(container))
		}
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
			return nil, status.New(status.Unavailable, "not all containers of allocation %s have started; ask again", id)
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
