package master

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Memory stores the documents of a resource manager by key.
type Memory struct{ store *store.Store }

func podDocs() store.Collection[json.RawMessage] {
	return store.Collection[json.RawMessage]{Kind: "pods"}
}

// Put creates or replaces a document.
func (m Memory) Put(ctx context.Context, key string, doc []byte) error {
	return m.store.Write(ctx, func(tx *store.Tx) error { return podDocs().Put(tx, key, "", time.Now(), doc) })
}

// Delete deletes a document. It returns nil if the document does not exist.
func (m Memory) Delete(ctx context.Context, key string) error {
	return m.store.Write(ctx, func(tx *store.Tx) error { return podDocs().Delete(tx, key) })
}

// All returns all documents by key.
func (m Memory) All(ctx context.Context) (map[string][]byte, error) {
	docs, err := podDocs().All(ctx, m.store)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(docs))
	for _, d := range docs {
		out[d.ID] = d.Value
	}
	return out, nil
}

// openKubernetes creates the resource manager that runs tasks as pods.
func (m *Master) openKubernetes() error {
	cfg := m.parts.Config
	if m.parts.Kubernetes == nil {
		return errors.New("this program cannot run tasks on Kubernetes")
	}
	k, err := m.parts.Kubernetes(m.env, KubernetesDeps{
		Tasks: m.tasks, Logs: m.tasks, Memory: Memory{m.store}, LastLine: m.lastLine,
		Policy:   func(p config.Pool) *apiv1.TaskPolicy { return taskPolicy(cfg, p) },
		Metadata: metadataOf(cfg.ResourceManager.Kubernetes.Metadata),
	})
	if err != nil {
		return err
	}
	m.rm = k
	if err := m.metrics.Register(k.Metrics()); err != nil {
		return fmt.Errorf("register the metrics of pods: %w", err)
	}
	return nil
}

// lastLine returns the time of a container's last stored log line.
func (m *Master) lastLine(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error) {
	f := log.Filter{Task: taskOf(id), Containers: []string{string(c)}, Limit: 1, Order: log.Newest}
	for e, err := range m.logs.Query(ctx, f) {
		return e.At, err
	}
	return time.Time{}, nil
}

// taskOf returns the task of an allocation "<task>.<n>".
func taskOf(id rm.AllocationID) string {
	if i := strings.LastIndexByte(string(id), '.'); i >= 0 {
		return string(id[:i])
	}
	return string(id)
}
