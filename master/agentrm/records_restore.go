package agentrm

import (
	"context"
	"fmt"
	"maps"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// jobMemory is the time that the settings of a job are kept after their last use.
const jobMemory = 30 * 24 * time.Hour

// restoreAll reads the records of an earlier master. It is called once, before Run.
func (r *records) restoreAll(ctx context.Context) error {
	if err := r.restoreJobs(ctx); err != nil {
		return fmt.Errorf("restore jobs of agent pools: %w", err)
	}
	agents, err := agentDocs().All(ctx, r.store)
	if err != nil {
		return fmt.Errorf("restore agents: %w", err)
	}
	allocations, err := allocationDocs().All(ctx, r.store)
	if err != nil {
		return fmt.Errorf("restore allocations: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range agents {
		if _, found := r.cfg.findPool(d.Value.Pool); !found {
			r.switches[rm.AgentID(d.ID)] = d.Value
			continue
		}
		a := newAgent(rm.AgentID(d.ID), time.Now())
		a.restoreFrom(d.Value)
		a.presence, a.retired = Lost, r.retired[a.id]
		r.agents[a.id] = a
	}
	for _, d := range allocations {
		r.restoreAllocation(d.Value)
	}
	r.noteAgents()
	return nil
}

func (r *records) restoreJobs(ctx context.Context) error {
	jobs, err := jobDocs().All(ctx, r.store)
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
	return r.store.Write(ctx, func(tx *store.Tx) error {
		for _, id := range old {
			if err := jobDocs().Delete(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreAllocation restores a placed allocation. If its pool was removed, its containers are killed
// once their agents reconnect, or given up.
func (r *records) restoreAllocation(d allocationDoc) {
	a, err := r.addAllocation(d.Request)
	if err != nil {
		a = r.addOrphan(d, err)
	}
	a.setPhase(Placed)
	a.Pool, a.placedAt, a.ports = d.Pool, d.PlacedAt, d.Ports
	r.holdSlots(a)
	if a.release == nil {
		a.release = d.Release.boundTime(time.Now(), a.PreemptionTimeout)
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
		if c.hasEnded() {
			continue
		}
		if r.agents[c.agent] == nil {
			r.agents[c.agent] = r.addLostAgent(c.agent, d.Pool)
		}
		r.agents[c.agent].containers[c.id] = c
	}
}

func (r *records) addOrphan(d allocationDoc, err error) *allocation {
	a := &allocation{
		Entry:   r.queue.Adopt(d.Request, d.Pool, d.Priority),
		release: &release{Cause: rm.CauseRefused, Reason: err.Error(), Kill: true},
	}
	r.allocations[a.Allocation] = a
	return a
}

// addLostAgent creates a lost agent for an id without a record, so that its containers are given up if
// it does not reconnect.
func (r *records) addLostAgent(id rm.AgentID, pool string) *agent {
	a := newAgent(id, time.Now())
	a.restoreFrom(r.switches[id])
	delete(r.switches, id)
	a.presence, a.pool, a.retired = Lost, pool, r.retired[id]
	return a
}

// restoreFrom restores the stored state of an agent; an empty record changes nothing.
func (a *agent) restoreFrom(d agentDoc) {
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
