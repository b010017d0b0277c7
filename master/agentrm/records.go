package agentrm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// records is what survives the master: agents with their switches, jobs with
// what was changed for them, and placed allocations. What waits is submitted
// again by its owner.
type records struct{ store *store.Store }

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

// jobDoc is what was changed for a job; zero values were not.
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
	Containers []containerDoc `json:"containers"`
}

type containerDoc struct {
	ID       rm.ContainerID `json:"id"`
	Agent    rm.AgentID     `json:"agent"`
	Devices  []deviceDoc    `json:"devices,omitempty"`
	State    string         `json:"state"`
	Received bool           `json:"received,omitempty"`
}

// jobMemory is how long a change to a job outlives its last use.
const jobMemory = 30 * 24 * time.Hour

func (s records) putAgent(ctx context.Context, id rm.AgentID, doc func() agentDoc) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		// The state is read when its turn to be written has come, so that of two
		// writes the later one has the later state.
		return agentDocs().Put(tx, string(id), "", time.Now(), doc())
	})
}

func (s records) dropAgent(ctx context.Context, id rm.AgentID) error {
	return s.store.Write(ctx, func(tx *store.Tx) error { return agentDocs().Delete(tx, string(id)) })
}

func (s records) putJob(ctx context.Context, id rm.JobID, doc jobDoc) error {
	return s.store.Write(ctx, func(tx *store.Tx) error { return jobDocs().Put(tx, string(id), "", time.Now(), doc) })
}

func (s records) putAllocation(ctx context.Context, id rm.AllocationID, doc allocationDoc) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		return allocationDocs().Put(tx, string(id), doc.Pool, doc.PlacedAt, doc)
	})
}

func (s records) dropAllocation(ctx context.Context, id rm.AllocationID) error {
	return s.store.Write(ctx, func(tx *store.Tx) error { return allocationDocs().Delete(tx, string(id)) })
}

// save stores a placed allocation as it is now.
func (r *RM) save(ctx context.Context, a *allocation) error {
	r.mu.Lock()
	doc := a.doc()
	r.mu.Unlock()
	return r.records.putAllocation(ctx, a.Allocation, doc)
}

// saveAgent stores an agent as it is when it is written.
func (r *RM) saveAgent(ctx context.Context, id rm.AgentID) error {
	return r.records.putAgent(ctx, id, func() agentDoc {
		r.mu.Lock()
		defer r.mu.Unlock()
		if a := r.agents[id]; a != nil {
			return a.doc()
		}
		return r.switches[id]
	})
}

// Restore reads what an earlier master has stored. It is called once, before Run.
func (r *RM) Restore(ctx context.Context) error {
	if err := r.restoreJobs(ctx); err != nil {
		return fmt.Errorf("restore jobs of agent pools: %w", err)
	}
	agents, err := agentDocs().All(ctx, r.cfg.Store)
	if err != nil {
		return fmt.Errorf("restore agents: %w", err)
	}
	allocations, err := allocationDocs().All(ctx, r.cfg.Store)
	if err != nil {
		return fmt.Errorf("restore allocations: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range agents {
		if _, found := r.cfg.pool(d.Value.Pool); !found {
			r.switches[rm.AgentID(d.ID)] = d.Value
			continue
		}
		a := newAgent(rm.AgentID(d.ID), time.Now())
		a.restore(d.Value)
		a.presence, a.retired = Lost, r.retired[a.id]
		r.agents[a.id] = a
	}
	for _, d := range allocations {
		r.restoreAllocation(d.Value)
	}
	return nil
}

func (r *RM) restoreJobs(ctx context.Context) error {
	jobs, err := jobDocs().All(ctx, r.cfg.Store)
	if err != nil {
		return err
	}
	var old []string
	r.mu.Lock()
	for _, d := range jobs {
		if time.Since(d.At) > jobMemory {
			old = append(old, d.ID)
			continue
		}
		r.queue.Restore(rm.JobID(d.ID), queue.Settings(d.Value))
	}
	r.mu.Unlock()
	if len(old) == 0 {
		return nil
	}
	return r.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for _, id := range old {
			if err := jobDocs().Delete(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreAllocation makes a placed allocation known again. If its pool is no
// more, its containers are killed when their agents are heard of, or given up.
func (r *RM) restoreAllocation(d allocationDoc) {
	a, err := r.add(d.Request)
	if err != nil {
		a = r.addOrphan(d, err)
	}
	a.setPhase(Placed)
	a.Pool, a.placedAt = d.Pool, d.PlacedAt
	if a.release == nil {
		a.release = d.Release
	}
	for rank, cd := range d.Containers {
		c := &container{
			id: cd.ID, allocation: a, agent: cd.Agent, devices: devicesOf(cd.Devices), rank: rank,
			state: apiv1.Container_State(apiv1.Container_State_value[cd.State]), received: cd.Received,
			sent: true, // a link of the earlier master may have carried it
		}
		c.stored = c.state
		a.containers = append(a.containers, c)
		r.containers[c.id] = c
		if c.ended() {
			continue
		}
		if r.agents[c.agent] == nil {
			r.agents[c.agent] = r.lostAgent(c.agent, d.Pool)
		}
		r.agents[c.agent].containers[c.id] = c
	}
}

func (r *RM) addOrphan(d allocationDoc, err error) *allocation {
	a := &allocation{
		Entry:   r.queue.Adopt(d.Request, d.Pool, d.Priority),
		release: &release{Cause: rm.CauseRefused, Reason: err.Error(), Kill: true},
	}
	r.allocations[a.Allocation] = a
	return a
}

// lostAgent stands for one that the records do not know, so that its containers
// are given up when it does not appear.
func (r *RM) lostAgent(id rm.AgentID, pool string) *agent {
	a := newAgent(id, time.Now())
	a.restore(r.switches[id])
	delete(r.switches, id)
	a.presence, a.pool, a.retired = Lost, pool, r.retired[id]
	return a
}

func (a *allocation) doc() allocationDoc {
	d := allocationDoc{Request: a.Request, Pool: a.Pool, Priority: a.Priority, PlacedAt: a.placedAt}
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

func (a *agent) doc() agentDoc {
	return agentDoc{
		Pool: a.pool, Version: a.version, Address: a.address, Devices: docsOf(a.devices),
		Registered: a.registered, State: a.state, Slots: maps.Clone(a.slots),
	}
}

// switched reports whether an operator's switch would be lost with the record.
func (d agentDoc) switched() bool {
	off := func(s rm.Switch) bool { return s != rm.Enable }
	return off(d.State) || slices.ContainsFunc(slices.Collect(maps.Values(d.Slots)), off)
}

// restore takes over what is stored of an agent; an empty record changes nothing.
func (a *agent) restore(d agentDoc) {
	if d.State == "" {
		return
	}
	a.pool, a.version, a.address, a.devices = d.Pool, d.Version, d.Address, devicesOf(d.Devices)
	a.registered, a.state = d.Registered, d.State
	maps.Copy(a.slots, d.Slots)
}

func docsOf(devices []*apiv1.Device) []deviceDoc {
	out := make([]deviceDoc, 0, len(devices))
	for _, d := range devices {
		out = append(out, deviceDoc{ID: d.GetId(), Brand: d.GetBrand(), UUID: d.GetUuid(), Type: d.GetType().String()})
	}
	return out
}

func devicesOf(docs []deviceDoc) []*apiv1.Device {
	out := make([]*apiv1.Device, 0, len(docs))
	for _, d := range docs {
		out = append(out, &apiv1.Device{
			Id: d.ID, Brand: d.Brand, Uuid: d.UUID, Type: apiv1.Device_Type(apiv1.Device_Type_value[d.Type]),
		})
	}
	return out
}
