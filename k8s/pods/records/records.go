// Package records stores what Kubernetes has no place for: what was switched off or
// changed, what has run, and how far logs were read.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/k8s/pods/logs"
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
	NodeKey       = "node/"
	JobKey        = "job/"
	AllocationKey = "allocation/"
	LogKey        = "log/"
)

// Node is a node that was switched off.
type Node struct {
	State rm.Switch `json:"state"`
}

// Job is what was changed for a job; zero values were not.
type Job struct {
	Priority int    `json:"priority,omitempty"`
	MaxSlots *int   `json:"max_slots,omitempty"`
	Pool     string `json:"pool,omitempty"`
	// Position replaces the time of submission in the order of the queue.
	Position time.Time `json:"position,omitzero"`
	// At is when it was changed.
	At time.Time `json:"at,omitzero"`
}

// JobLifetime is how long a change to a job outlives its last use.
const JobLifetime = 30 * 24 * time.Hour

// Allocation is written before the owner is told that an allocation runs: one
// that has run and whose Job is gone was lost, and must not run a second time.
type Allocation struct {
	Attempt int      `json:"attempt"`
	Release *Release `json:"release,omitempty"`
}

// Store reads and writes documents as what they are.
type Store struct{ memory Memory }

// New returns a store over a memory.
func New(m Memory) Store { return Store{m} }

// Put stores a document under a key.
func (s Store) Put(ctx context.Context, key string, doc any) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	if err := s.memory.Put(ctx, key, data); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

// Delete forgets a document; one that does not exist is no error.
func (s Store) Delete(ctx context.Context, key string) error {
	if err := s.memory.Delete(ctx, key); err != nil {
		return fmt.Errorf("forget %s: %w", key, err)
	}
	return nil
}

// Saved is what an earlier master has stored.
type Saved struct {
	Nodes       map[rm.AgentID]Node
	Jobs        map[rm.JobID]Job
	Allocations map[rm.AllocationID]Allocation
	Marks       map[rm.ContainerID]logs.Mark
}

// Load reads all documents.
func (s Store) Load(ctx context.Context) (Saved, error) {
	p := Saved{
		Nodes: map[rm.AgentID]Node{}, Jobs: map[rm.JobID]Job{},
		Allocations: map[rm.AllocationID]Allocation{}, Marks: map[rm.ContainerID]logs.Mark{},
	}
	docs, err := s.memory.All(ctx)
	if err != nil {
		return p, fmt.Errorf("read what was kept of pods: %w", err)
	}
	for key, data := range docs {
		kind, id, _ := strings.Cut(key, "/")
		var err error
		switch kind + "/" {
		case NodeKey:
			err = decodeInto(data, p.Nodes, rm.AgentID(id))
		case JobKey:
			err = decodeInto(data, p.Jobs, rm.JobID(id))
		case AllocationKey:
			err = decodeInto(data, p.Allocations, rm.AllocationID(id))
		case LogKey:
			err = decodeInto(data, p.Marks, rm.ContainerID(id))
		}
		if err != nil {
			return p, fmt.Errorf("read %s: %w", key, err)
		}
	}
	return p, nil
}

func decodeInto[K comparable, V any](data []byte, into map[K]V, id K) error {
	var doc V
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	into[id] = doc
	return nil
}

// Release is why an allocation has to go.
type Release struct {
	Cause  rm.Cause  `json:"cause"`
	Reason string    `json:"reason"`
	By     time.Time `json:"by,omitzero"` // when it is killed, if it is not already
	Kill   bool      `json:"kill,omitempty"`
}
