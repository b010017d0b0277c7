// Package model implements the model registry: models are names, and their versions refer to
// checkpoints. A checkpoint cannot be deleted while a version refers to it.
//
// Every user may see all models and create models. The owner of a model, the owner of its workspace
// and administrators may change it and register versions.
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

// Workspaces provides the workspaces of models; workspace.Workspaces implements it.
type Workspaces interface {
	Workspace(id int32) (workspace.Workspace, error)
	WorkspaceNamed(name string) (workspace.Workspace, error)
	// CheckWorkspace returns an error if the workspace accepts no new objects. It is called in the
	// transaction that stores the object.
	CheckWorkspace(ctx context.Context, tx *store.Tx, id int32) error
}

// Users looks up users; auth.Auth implements it.
type Users interface {
	User(id int32) (*apiv1.User, error)
}

// Config configures Open.
type Config struct {
	Store      *store.Store
	Workspaces Workspaces
	Users      Users
	// Checkpoint returns a checkpoint as an API message. If it is nil, the message contains only the
	// fields of the record.
	Checkpoint func(ctx context.Context, uuid string) (*apiv1.Checkpoint, error)
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
}

// Models is the model registry. It is safe for concurrent use.
type Models struct {
	*shared
	*edits
	*versions
}

// shared is the state that all parts use.
type shared struct {
	cfg   Config
	table *table

	// change serializes changes, from their validation until the table is updated. Readers do not
	// hold it.
	change sync.Mutex
}

// Open loads the models from the store, which must hold its lease. It returns an error if a required
// dependency is missing or the store cannot be read.
func Open(ctx context.Context, cfg Config) (*Models, error) {
	if cfg.Store == nil || cfg.Workspaces == nil || cfg.Users == nil {
		return nil, errors.New("open models: store, workspaces and users are required")
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

// findOwn returns a model by name or ID, or PermissionDenied if the user may not change it.
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

// findOpen is findOwn for models that are not archived. It returns FailedPrecondition for an
// archived model.
func (s *shared) findOpen(by *apiv1.User, identifier string) (modelRecord, error) {
	m, err := s.findOwn(by, identifier)
	if err == nil && m.Archived {
		err = status.New(status.FailedPrecondition, "model '%s' is archived; unarchive it first", m.Name)
	}
	return m, err
}

// find returns a model by ID or by name, ignoring case. It returns NotFound if it does not exist.
func (s *shared) find(identifier string) (modelRecord, error) {
	m, found := s.table.find(identifier)
	if !found {
		return modelRecord{}, status.Missing("model", identifier)
	}
	return m, nil
}

// store stores a model, and other changes of the same transaction if also is not nil. The caller
// holds s.change.
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
