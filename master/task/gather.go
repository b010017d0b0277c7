package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

const (
	// gatherWait is the time that a program waits for the others before it has to ask again.
	gatherWait = 5 * time.Minute
	// maxPeers and maxGathered bound the data that the programs of an allocation exchange.
	maxPeers    = 10_000
	maxGathered = 64 << 10
)

// gathers lets the programs of an allocation wait for each other. The data of an incomplete round is
// only in memory: the programs wait for an answer, and send it again to the next master.
type gathers struct {
	*shared

	records *records

	mu   sync.Mutex // guards open
	open map[gatherKey]*gathering
}

type gatherKey struct {
	allocation rm.AllocationID
	kind       lifecycle.GatherKind
}

// gathering is the state of an incomplete round.
type gathering struct {
	peers map[string]json.RawMessage
	want  int
	// waiting counts the waiting programs; the last one to leave removes the round.
	waiting int
}

// AllGather waits until all programs of an allocation have sent data, and returns the data of all. The
// errors have the codes InvalidArgument, NotFound, FailedPrecondition when the allocation ends, and
// Unavailable, after which clients ask again.
func (g *gathers) AllGather(ctx context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error) {
	return g.gather(ctx, lifecycle.GatherData, r)
}

// AllRunning is AllGather for programs that report that they are running.
func (g *gathers) AllRunning(ctx context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error) {
	return g.gather(ctx, lifecycle.GatherRunning, r)
}

func (g *gathers) gather(ctx context.Context, kind lifecycle.GatherKind, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error) {
	data, err := checkGather(r)
	if err != nil {
		return nil, err
	}
	id := rm.AllocationID(r.GetAllocationId())
	e, _, found, err := g.findAllocation(ctx, id)
	if err == nil && !found {
		err = status.Missing("allocation", r.GetAllocationId())
	}
	if err != nil {
		return nil, err
	}
	key := gatherKey{id, kind}
	if a, _ := e.latestSnapshot().allocationByID(id); a.Gathered[kind][r.GetRequestUuid()] == nil {
		o, all, err := g.join(key, r, data)
		if err != nil {
			return nil, err
		}
		defer g.leave(key, o)
		if err := g.finish(ctx, key, o, all); err != nil {
			return nil, err
		}
	}
	return awaitGathered(ctx, e, key, r.GetRequestUuid())
}

func checkGather(r *apiv1.AllocationAllGatherRequest) (json.RawMessage, error) {
	if r.GetData() == nil {
		r.Data = &structpb.Struct{}
	}
	data, err := protojson.Marshal(r.GetData())
	switch {
	case err != nil:
		return nil, status.New(status.InvalidArgument, "data: %v", err)
	case len(data) > maxGathered:
		return nil, status.New(status.InvalidArgument, "data: must have at most %d bytes (has %d)", maxGathered, len(data))
	case r.GetRequestUuid() == "":
		return nil, status.New(status.InvalidArgument, "request_uuid: must be set")
	case r.GetNumPeers() < 1 || r.GetNumPeers() > maxPeers:
		return nil, status.New(status.InvalidArgument, "num_peers: must be 1 to %d (is %d)", maxPeers, r.GetNumPeers())
	}
	return data, nil
}

// join adds the data of one program. It returns the data of all programs once it is complete.
func (g *gathers) join(key gatherKey, r *apiv1.AllocationAllGatherRequest, data json.RawMessage) (*gathering, lifecycle.Gathered, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.open[key]
	if o == nil {
		o = &gathering{peers: map[string]json.RawMessage{}, want: int(r.GetNumPeers())}
		g.open[key] = o
	}
	if o.want != int(r.GetNumPeers()) {
		return nil, nil, status.New(status.InvalidArgument, "num_peers: is %d, but %d for another program of allocation %s", r.GetNumPeers(), o.want, key.allocation)
	}
	o.waiting++
	o.peers[r.GetRequestUuid()] = data
	if len(o.peers) < o.want {
		return o, nil, nil
	}
	return o, maps.Clone(o.peers), nil
}

func (g *gathers) leave(key gatherKey, o *gathering) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.waiting--; o.waiting == 0 {
		g.close(key, o)
	}
}

// close removes a round so that the next request begins a new one. The caller holds mu.
func (g *gathers) close(key gatherKey, o *gathering) {
	if g.open[key] == o {
		delete(g.open, key)
	}
}

// finish stores the data of a complete round, which wakes the waiting programs.
func (g *gathers) finish(ctx context.Context, key gatherKey, o *gathering, all lifecycle.Gathered) error {
	if all == nil {
		return nil
	}
	err := g.records.changeAllocation(ctx, key.allocation, func(a lifecycle.Allocation) lifecycle.Allocation {
		return a.Gather(key.kind, all)
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.close(key, o)
	return nil
}

// awaitGathered waits until the round of a program's request is complete.
func awaitGathered(ctx context.Context, e *entry, key gatherKey, request string) ([]*structpb.Struct, error) {
	timer := time.NewTimer(gatherWait)
	defer timer.Stop()
	for {
		s, news := e.watchChanges()
		a, _ := s.allocationByID(key.allocation)
		all := a.Gathered[key.kind]
		switch {
		case all[request] != nil:
			return showGathered(all)
		case a.Over() || a.Killed != nil:
			return nil, status.New(status.FailedPrecondition, "allocation %s ended before all of its programs sent their requests", key.allocation)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, status.New(status.Unavailable, "not all programs of allocation %s have sent their requests; try again", key.allocation)
		case <-news:
		}
	}
}

// showGathered returns the data of all programs in the order of their requests.
func showGathered(all lifecycle.Gathered) ([]*structpb.Struct, error) {
	var out []*structpb.Struct
	var errs []error
	for _, request := range slices.Sorted(maps.Keys(all)) {
		data := &structpb.Struct{}
		if err := protojson.Unmarshal(all[request], data); err != nil {
			errs = append(errs, fmt.Errorf("read the data of request %q: %w", excerpt.Of(request), err))
		}
		out = append(out, data)
	}
	return out, errors.Join(errs...)
}
