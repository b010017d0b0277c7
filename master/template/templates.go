// Package template keeps parts of configurations under names, so that tasks and
// experiments can be submitted with them.
//
// A template says what its author wrote; what of it a command or an experiment takes is
// known to those. Everybody may use and see a template, without the keys in it; its owner,
// the owner of its workspace and administrators may change it.
package template

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// Workspaces is what templates belong to; workspace.Workspaces has these methods.
type Workspaces interface {
	Workspace(id int32) (workspace.Workspace, error)
	// CheckWorkspace refuses one that takes nothing new, in the transaction that stores what
	// belongs to it.
	CheckWorkspace(ctx context.Context, tx *store.Tx, id int32) error
}

// Config is what Open needs.
type Config struct {
	Store      *store.Store
	Workspaces Workspaces
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// record is what the store keeps of a template, under its name.
type record struct {
	Name        string          `json:"name"`
	Config      json.RawMessage `json:"config"`
	WorkspaceID int32           `json:"workspace_id"`
	UserID      int32           `json:"user_id"`
	Created     time.Time       `json:"created"`
}

var records = store.Collection[record]{Kind: "template"}

// Templates is safe for concurrent use.
type Templates struct {
	cfg Config

	// change is held by each change, from the look at what there is until memory agrees
	// with the store again. Readers never wait for it.
	change sync.Mutex
	mu     sync.RWMutex
	named  map[string]record // what is in it is not changed
}

// Open reads the templates from the store, which must be leased.
func Open(ctx context.Context, cfg Config) (*Templates, error) {
	if cfg.Store == nil || cfg.Workspaces == nil {
		return nil, errors.New("open templates: store and workspaces are both needed")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	docs, err := records.All(ctx, cfg.Store)
	if err != nil {
		return nil, fmt.Errorf("open templates: %w", err)
	}
	t := &Templates{cfg: cfg, named: map[string]record{}}
	for _, d := range docs {
		t.named[d.ID] = d.Value
	}
	return t, nil
}

// Template is the configuration of a template as JSON, as it was written. The error has the
// code NotFound.
func (t *Templates) Template(_ context.Context, name string) ([]byte, error) {
	r, err := t.find(name)
	return slices.Clone(r.Config), err
}

// DeleteAll deletes the templates of a workspace that is being deleted. It may be repeated.
func (t *Templates) DeleteAll(ctx context.Context, _ *apiv1.User, workspaceID int32) error {
	t.change.Lock()
	defer t.change.Unlock()
	for _, r := range t.list() {
		if r.WorkspaceID != workspaceID {
			continue
		}
		if err := t.remove(ctx, r.Name); err != nil {
			return fmt.Errorf("delete template %q: %w", r.Name, err)
		}
	}
	return nil
}

// CheckDelete refuses nothing: templates go with their workspace.
func (t *Templates) CheckDelete(int32) error { return nil }

func (t *Templates) find(name string) (record, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	r, found := t.named[name]
	if !found {
		return record{}, status.Missing("template", name)
	}
	return r, nil
}

// countOf is how many templates a user has.
func (t *Templates) countOf(user int32) int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := 0
	for _, r := range t.named {
		if r.UserID == user {
			n++
		}
	}
	return n
}

// list is every template by name.
func (t *Templates) list() []record {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]record, 0, len(t.named))
	for _, r := range t.named {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return all
}

func (t *Templates) keep(r record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.named[r.Name] = r
}

func (t *Templates) drop(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.named, name)
}
