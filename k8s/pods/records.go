package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Memory keeps small documents through restarts. Kubernetes holds what runs; here
// is what Kubernetes has no place for.
type Memory interface {
	// Put stores a document under a key, over the one that is there.
	Put(ctx context.Context, key string, doc []byte) error
	// Delete forgets a document; one that is not there is not an error.
	Delete(ctx context.Context, key string) error
	// All lists every document by key.
	All(ctx context.Context) (map[string][]byte, error)
}

// The keys of documents: a kind, a slash, and whose it is.
const (
	nodeKey       = "node/"
	jobKey        = "job/"
	allocationKey = "allocation/"
	logKey        = "log/"
)

// nodeDoc is a node that was switched off.
type nodeDoc struct {
	State rm.Switch `json:"state"`
}

// jobDoc is what was changed for a job; zero values were not.
type jobDoc struct {
	Priority int    `json:"priority,omitempty"`
	MaxSlots *int   `json:"max_slots,omitempty"`
	Pool     string `json:"pool,omitempty"`
	// Position replaces the time of submission in the order of the queue.
	Position time.Time `json:"position,omitzero"`
	// At is when it was changed.
	At time.Time `json:"at,omitzero"`
}

// changed reports whether anything was.
func (d jobDoc) changed() bool {
	return d.Priority != 0 || d.MaxSlots != nil || d.Pool != "" || !d.Position.IsZero()
}

// jobMemory is how long a change to a job outlives its last use.
const jobMemory = 30 * 24 * time.Hour

// allocationDoc is written before the owner is told that an allocation runs: one
// that has run and whose Job is gone was lost, and must not run a second time.
type allocationDoc struct {
	Attempt int      `json:"attempt"`
	Release *release `json:"release,omitempty"`
}

// records reads and writes documents as what they are.
type records struct{ memory Memory }

func (s records) put(ctx context.Context, key string, doc any) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	if err := s.memory.Put(ctx, key, data); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

func (s records) drop(ctx context.Context, key string) error {
	if err := s.memory.Delete(ctx, key); err != nil {
		return fmt.Errorf("forget %s: %w", key, err)
	}
	return nil
}

// past is what an earlier master has stored.
type past struct {
	nodes       map[rm.AgentID]nodeDoc
	jobs        map[rm.JobID]jobDoc
	allocations map[rm.AllocationID]allocationDoc
	marks       map[rm.ContainerID]mark
}

func (s records) all(ctx context.Context) (past, error) {
	p := past{
		nodes: map[rm.AgentID]nodeDoc{}, jobs: map[rm.JobID]jobDoc{},
		allocations: map[rm.AllocationID]allocationDoc{}, marks: map[rm.ContainerID]mark{},
	}
	docs, err := s.memory.All(ctx)
	if err != nil {
		return p, fmt.Errorf("read what was kept of pods: %w", err)
	}
	for key, data := range docs {
		kind, id, _ := strings.Cut(key, "/")
		var err error
		switch kind + "/" {
		case nodeKey:
			err = decode(data, p.nodes, rm.AgentID(id))
		case jobKey:
			err = decode(data, p.jobs, rm.JobID(id))
		case allocationKey:
			err = decode(data, p.allocations, rm.AllocationID(id))
		case logKey:
			err = decode(data, p.marks, rm.ContainerID(id))
		}
		if err != nil {
			return p, fmt.Errorf("read %s: %w", key, err)
		}
	}
	return p, nil
}

func decode[K comparable, V any](data []byte, into map[K]V, id K) error {
	var doc V
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	into[id] = doc
	return nil
}
