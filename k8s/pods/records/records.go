// Package records stores the state that is not in Kubernetes: disabled nodes, changed jobs, running
// allocations and positions in logs.
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

// Memory stores small documents persistently, for state that is not in Kubernetes.
type Memory interface {
	// Put stores a document, replacing an existing one.
	Put(ctx context.Context, key string, doc []byte) error
	// Delete deletes a document. It returns nil if the document does not exist.
	Delete(ctx context.Context, key string) error
	// All returns all documents by key.
	All(ctx context.Context) (map[string][]byte, error)
}

// Prefixes of the keys; an ID follows.
const (
	NodeKey       = "node/"
	JobKey        = "job/"
	AllocationKey = "allocation/"
	LogKey        = "log/"
)

// Node is a disabled node.
type Node struct {
	State rm.Switch `json:"state"`
}

// Job contains the changed settings of a job; zero values are unchanged.
type Job struct {
	Priority int    `json:"priority,omitempty"`
	MaxSlots *int   `json:"max_slots,omitempty"`
	Pool     string `json:"pool,omitempty"`
	// Position replaces the submission time in the order of the queue.
	Position time.Time `json:"position,omitzero"`
	// At is the time of the change.
	At time.Time `json:"at,omitzero"`
}

// JobLifetime is how long the changes of a job are kept after their last use.
const JobLifetime = 30 * 24 * time.Hour

// Allocation is stored before the owner is notified that an allocation runs. If such an allocation
// has no Job, it was lost and must not run again.
type Allocation struct {
	Attempt int      `json:"attempt"`
	Release *Release `json:"release,omitempty"`
}

// Store reads and writes typed documents.
type Store struct{ memory Memory }

// New returns a Store that uses m.
func New(m Memory) Store { return Store{m} }

// Put stores a document.
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

// Delete deletes a document. It returns nil if the document does not exist.
func (s Store) Delete(ctx context.Context, key string) error {
	if err := s.memory.Delete(ctx, key); err != nil {
		return fmt.Errorf("forget %s: %w", key, err)
	}
	return nil
}

// Saved contains the documents stored by an earlier master.
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

// Release is the request to stop an allocation.
type Release struct {
	Cause  rm.Cause  `json:"cause"`
	Reason string    `json:"reason"`
	By     time.Time `json:"by,omitzero"` // when it is killed, unless it already is
	Kill   bool      `json:"kill,omitempty"`
}
