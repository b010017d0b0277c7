// Package model is the registry of models: names under which checkpoints are registered as
// versions. A checkpoint stays for as long as a version refers to it.
//
// Everybody may see all models and make some. The owner of a model, the owner of its
// workspace and administrators may change it and register versions.
package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// Workspaces is what models belong to; workspace.Workspaces has these methods.
type Workspaces interface {
	Workspace(id int32) (workspace.Workspace, error)
	WorkspaceNamed(name string) (workspace.Workspace, error)
	// CheckWorkspace refuses one that takes nothing new, in the transaction that stores what
	// belongs to it.
	CheckWorkspace(ctx context.Context, tx *store.Tx, id int32) error
}

// Users is who the owners are. auth.Auth has these methods.
type Users interface {
	User(id int32) (*apiv1.User, error)
}

// Config is what Open needs.
type Config struct {
	Store      *store.Store
	Workspaces Workspaces
	Users      Users
	// Checkpoint is a checkpoint as clients are shown it; nil shows what its record says.
	Checkpoint func(ctx context.Context, uuid string) (*apiv1.Checkpoint, error)
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Models is safe for concurrent use.
type Models struct {
	*shared
	*edits
	*versions
}

// shared is what all parts have in common.
type shared struct {
	cfg   Config
	table *table

	// change is held by each change, from the look at what there is until memory agrees
	// with the store again. Readers never wait for it.
	change sync.Mutex
}

// Open reads the models from the store, which must be leased.
func Open(ctx context.Context, cfg Config) (*Models, error) {
	if cfg.Store == nil || cfg.Workspaces == nil || cfg.Users == nil {
		return nil, errors.New("open models: store, workspaces and users are all needed")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &shared{cfg: cfg, table: newTable()}
	if err := s.table.loadAll(ctx, cfg.Store); err != nil {
		return nil, fmt.Errorf("open models: %w", err)
	}
	return &Models{shared: s, edits: &edits{s}, versions: &versions{s}}, nil
}

// findOwn is a model that by may change, by its name or its number.
func (s *shared) findOwn(by *apiv1.User, identifier string) (modelRecord, error) {
	m, err := s.find(identifier)
	if err != nil {
		return m, err
	}
	if by.GetAdmin() || by.GetId() == m.UserID {
		return m, nil
	}
	if w, err := s.cfg.Workspaces.Workspace(m.WorkspaceID); err == nil && w.IsOwnedBy(by) {
		return m, nil
	}
	return m, status.New(status.PermissionDenied,
		"model '%s' belongs to another user; only its owner, the owner of its workspace and administrators may change it", m.Name)
}

// findOpen is findOwn of a model that is not archived.
func (s *shared) findOpen(by *apiv1.User, identifier string) (modelRecord, error) {
	m, err := s.findOwn(by, identifier)
	if err == nil && m.Archived {
		err = status.New(status.FailedPrecondition, "model '%s' is archived; unarchive it first", m.Name)
	}
	return m, err
}

// find is a model by its name, in any case, or its number.
func (s *shared) find(identifier string) (modelRecord, error) {
	m, found := s.table.find(identifier)
	if !found {
		return modelRecord{}, status.Missing("model", identifier)
	}
	return m, nil
}

// store stores a model, with what else belongs to the change; nil is nothing. The caller holds
// s.change.
func (s *shared) store(ctx context.Context, m modelRecord, also func(*store.Tx) error) error {
	err := s.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		return putModel(tx, m)
	})
	if err == nil {
		s.table.keep(m)
	}
	return err
}
