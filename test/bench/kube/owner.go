package main

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// owner implements the owner of the tasks without a store.
type owner struct {
	mu sync.Mutex // guards the fields below
	// runs is the number of running containers of each allocation.
	runs  map[rm.AllocationID]int
	ended map[rm.AllocationID]bool
	seen  map[rm.ContainerID]bool
}

func newOwner() *owner {
	return &owner{runs: make(map[rm.AllocationID]int), ended: make(map[rm.AllocationID]bool), seen: make(map[rm.ContainerID]bool)}
}

// running returns the number of allocations all of whose pods run.
func (o *owner) running(pods int) int { return len(o.some(-1, pods)) }

// some returns n of these allocations, or all if n is negative.
func (o *owner) some(n, pods int) []rm.AllocationID {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []rm.AllocationID
	for id, have := range o.runs {
		if have == pods && !o.ended[id] && len(all) != n {
			all = append(all, id)
		}
	}
	return all
}

// over returns the number of ended allocations.
func (o *owner) over() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ended)
}

// Assigned returns specs that no fake node executes.
func (o *owner) Assigned(_ context.Context, a rm.Assignment) ([]*agentv1.Spec, error) {
	specs := make([]*agentv1.Spec, len(a.Containers))
	for i := range specs {
		specs[i] = benchSpec()
	}
	return specs, nil
}

func benchSpec() *agentv1.Spec {
	return &agentv1.Spec{Image: "none:1", Entrypoint: []string{"/task"}, TaskType: "COMMAND"}
}

// Changed counts running containers.
func (o *owner) Changed(_ context.Context, c rm.ContainerChange) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.State == apiv1.Container_STATE_RUNNING && !o.seen[c.Container] {
		o.seen[c.Container] = true
		o.runs[c.Allocation]++
	}
	return nil
}

// Preempted is never called here.
func (o *owner) Preempted(context.Context, rm.AllocationID, string, time.Time) (bool, error) {
	return false, nil
}

// Waits ignores the reason for a wait, which is for users.
func (o *owner) Waits(context.Context, rm.AllocationID, rm.Wait) error { return nil }

// Ended records the end of an allocation.
func (o *owner) Ended(_ context.Context, id rm.AllocationID, _ rm.End) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended[id] = true
	return nil
}

// AppendLogs discards the output of fake pods.
func (o *owner) AppendLogs(_ context.Context, _ rm.AgentID, l *agentv1.Logs) (uint64, error) {
	return l.GetFirstSeq() + uint64(len(l.GetLines())), nil
}

// NextSeq returns 0, the number of the first line.
func (o *owner) NextSeq(context.Context, rm.AllocationID, rm.ContainerID) (uint64, error) {
	return 0, nil
}

// memory is a store in memory.
type memory struct {
	mu   sync.Mutex // guards docs
	docs map[string][]byte
}

func newMemory() *memory { return &memory{docs: make(map[string][]byte)} }

// Put stores a document.
func (m *memory) Put(_ context.Context, key string, doc []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.docs[key] = doc
	return nil
}

// Delete removes a document.
func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.docs, key)
	return nil
}

// All returns all documents.
func (m *memory) All(context.Context) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.docs), nil
}
