// Package template stores named parts of configurations, with which tasks and experiments can be
// submitted.
//
// Commands and experiments decide which settings of a template they use. All users may use and read
// templates, without the secrets in them. The owner, the owner of the workspace and administrators
// may change a template.
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

// Workspaces provides the workspaces of templates; workspace.Workspaces implements it.
type Workspaces interface {
	Workspace(id int32) (workspace.Workspace, error)
	// CheckWorkspace returns an error if the workspace does not accept new objects. It is called in
	// the transaction that stores the object.
	CheckWorkspace(ctx context.Context, tx *store.Tx, id int32) error
}

// Config configures Open.
type Config struct {
	Store      *store.Store
	Workspaces Workspaces
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// record is a stored template. Its key is its name.
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

	// change is held by each change, from reading the state until memory agrees with the store
	// again. Readers never wait for it.
	change sync.Mutex
	mu     sync.RWMutex
	named  map[string]record // values are not modified
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

// Template returns the configuration of a template as JSON. It returns an error of code NotFound.
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

// CheckDelete returns nil: templates are deleted with their workspace.
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

// countOf returns the number of templates of a user.
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

// list returns all templates by name.
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
