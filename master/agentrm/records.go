package agentrm

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// records stores the state that outlives the master: agents with their switches, the settings of jobs,
// and placed allocations. Waiting allocations are submitted again by their owner. It copies the state
// under state.mu, and writes without it.
type records struct {
	*state
	store *store.Store
}

func agentDocs() store.Collection[agentDoc] {
	return store.Collection[agentDoc]{Kind: "agentrm_agent"}
}

func jobDocs() store.Collection[jobDoc] {
	return store.Collection[jobDoc]{Kind: "agentrm_job"}
}

func allocationDocs() store.Collection[allocationDoc] {
	return store.Collection[allocationDoc]{Kind: "agentrm_allocation"}
}

type agentDoc struct {
	Pool       string            `json:"pool"`
	Version    string            `json:"version"`
	Address    string            `json:"address"`
	Devices    []deviceDoc       `json:"devices"`
	Registered time.Time         `json:"registered"`
	State      rm.Switch         `json:"state"`
	Slots      map[int]rm.Switch `json:"slots,omitempty"`
}

type deviceDoc struct {
	ID    int32  `json:"id"`
	Brand string `json:"brand"`
	UUID  string `json:"uuid"`
	Type  string `json:"type"`
}

// jobDoc is the settings of a job; zero fields were not changed.
type jobDoc struct {
	Priority int            `json:"priority,omitempty"`
	Weight   *float64       `json:"weight,omitempty"`
	MaxSlots *int           `json:"max_slots,omitempty"`
	Pool     string         `json:"pool,omitempty"`
	MovedTo  queue.Position `json:"position,omitempty"`
}

type allocationDoc struct {
	Request    rm.Request     `json:"request"`
	Pool       string         `json:"pool"`
	Priority   int            `json:"priority"`
	PlacedAt   time.Time      `json:"placed_at"`
	Release    *release       `json:"release,omitempty"`
	Ports      []int          `json:"ports,omitempty"`
	Containers []containerDoc `json:"containers"`
}

type containerDoc struct {
	ID       rm.ContainerID `json:"id"`
	Agent    rm.AgentID     `json:"agent"`
	Devices  []deviceDoc    `json:"devices,omitempty"`
	State    string         `json:"state"`
	Received bool           `json:"received,omitempty"`
}

func (r *records) putAgent(ctx context.Context, id rm.AgentID, doc func() agentDoc) error {
	return r.store.Write(ctx, func(tx *store.Tx) error {
		// The state is read inside the transaction, so that of two writes the later one has the later
		// state.
		return agentDocs().Put(tx, string(id), "", time.Now(), doc())
	})
}

func (r *records) dropAgent(ctx context.Context, id rm.AgentID) error {
	return r.store.Write(ctx, func(tx *store.Tx) error { return agentDocs().Delete(tx, string(id)) })
}

func (r *records) putJob(ctx context.Context, id rm.JobID, doc jobDoc) error {
	return r.store.Write(ctx, func(tx *store.Tx) error { return jobDocs().Put(tx, string(id), "", time.Now(), doc) })
}

func putAllocation(id rm.AllocationID, doc allocationDoc) func(*store.Tx) error {
	return func(tx *store.Tx) error { return allocationDocs().Put(tx, string(id), doc.Pool, doc.PlacedAt, doc) }
}

// replaceAllocation is like putAllocation, for an allocation that is already stored.
func replaceAllocation(id rm.AllocationID, doc allocationDoc) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		found, err := allocationDocs().Replace(tx, string(id), doc)
		if err != nil || found {
			return err
		}
		return putAllocation(id, doc)(tx)
	}
}

func dropAllocation(id rm.AllocationID) func(*store.Tx) error {
	return func(tx *store.Tx) error { return allocationDocs().Delete(tx, string(id)) }
}

// saveAllocation stores the current state of a placed allocation.
func (r *records) saveAllocation(ctx context.Context, a *allocation) error {
	return r.store.Write(ctx, putAllocation(a.Allocation, r.copyAllocation(a)))
}

func (r *records) copyAllocation(a *allocation) allocationDoc {
	r.mu.Lock()
	defer r.mu.Unlock()
	return a.toDoc()
}

// saveAgent stores the state of an agent at the time of the write.
func (r *records) saveAgent(ctx context.Context, id rm.AgentID) error {
	return r.putAgent(ctx, id, func() agentDoc {
		r.mu.Lock()
		defer r.mu.Unlock()
		if a := r.agents[id]; a != nil {
			return a.toDoc()
		}
		return r.switches[id]
	})
}

func (a *allocation) toDoc() allocationDoc {
	d := allocationDoc{Request: a.Request, Pool: a.Pool, Priority: a.Priority, PlacedAt: a.placedAt, Ports: a.ports}
	if a.release != nil {
		copied := *a.release
		d.Release = &copied
	}
	for _, c := range a.containers {
		d.Containers = append(d.Containers, containerDoc{
			ID: c.id, Agent: c.agent, Devices: docsOf(c.devices), State: c.state.String(), Received: c.received,
		})
	}
	return d
}

func (a *agent) toDoc() agentDoc {
	return agentDoc{
		Pool: a.pool, Version: a.version, Address: a.address, Devices: docsOf(a.devices),
		Registered: a.registered, State: a.state, Slots: maps.Clone(a.slots),
	}
}

// isSwitched reports whether deleting the record would lose an operator's switch.
func (d agentDoc) isSwitched() bool {
	off := func(s rm.Switch) bool { return s != rm.Enable }
	return off(d.State) || slices.ContainsFunc(slices.Collect(maps.Values(d.Slots)), off)
}
