// Package workspace stores the workspaces of the cluster and their projects, to which tasks and
// experiments belong. They provide default resource pools, checkpoint storages and Unix accounts.
//
// The workspace "Uncategorized" with the project "Uncategorized" always exists. Both have the ID 1
// and cannot be changed.
//
// All data is in memory, because every task and every list reads it. Changes are written through to
// the store.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// Uncategorized is the name of the first workspace and of its first project.
const Uncategorized = "Uncategorized"

// First is the ID of the first workspace and of its first project.
const First int32 = 1

// Users looks up users; auth.Auth implements it.
type Users interface {
	User(id int32) (*apiv1.User, error)
}

// Config configures Open.
type Config struct {
	Store *store.Store
	Users Users
	// Pools returns the names of the resource pools, or nil if they are unknown. It may be nil.
	Pools func() []string
	// CheckStorage returns an error if tasks may not mount a checkpoint storage. It may be nil.
	CheckStorage func(expconf.Storage) error
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
	// Log may be nil.
	Log *slog.Logger
}

// Workspaces holds the workspaces and projects. It is safe for concurrent use.
type Workspaces struct {
	*shared
	*reader
	*views
	*spaces
	*projectEdits
	*deletions
}

// shared is the state that all parts use.
type shared struct {
	cfg   Config
	table *table

	// change serializes changes, from their validation until the table is updated. Readers do not
	// hold it.
	change sync.Mutex

	// experiments and contents are set by Attach.
	experiments atomic.Pointer[Experiments]
	contents    []Content
}

// poolNames returns the names of the resource pools, or nil if they are unknown.
func (s *shared) poolNames() []string {
	if s.cfg.Pools == nil {
		return nil
	}
	return s.cfg.Pools()
}

// Open loads workspaces and projects from the store, which must hold its lease, and creates the
// first ones in an empty store. It returns an error if a required dependency is missing or the store
// cannot be read.
func Open(ctx context.Context, cfg Config) (*Workspaces, error) {
	if cfg.Store == nil || cfg.Users == nil {
		return nil, errors.New("open workspaces: store and users are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &shared{cfg: cfg, table: newTable()}
	if err := s.table.loadAll(ctx, cfg.Store); err != nil {
		return nil, fmt.Errorf("open workspaces: %w", err)
	}
	if err := s.seedStore(ctx); err != nil {
		return nil, fmt.Errorf("create the first workspace: %w", err)
	}
	v := &views{s}
	return &Workspaces{
		shared: s, reader: &reader{s}, views: v, spaces: &spaces{shared: s, views: v},
		projectEdits: &projectEdits{shared: s, views: v}, deletions: newDeletions(s),
	}, nil
}

// Attach sets the experiments in projects, which may be nil, and the other content of workspaces. It
// must be called once, before any change.
func (s *shared) Attach(e Experiments, contents ...Content) {
	if e != nil {
		s.experiments.Store(&e)
	}
	s.contents = contents
}

// seedStore creates the first workspace and its first project if they do not exist.
func (s *shared) seedStore(ctx context.Context) error {
	if _, found := s.table.findWorkspace(First); found {
		return nil
	}
	now := s.cfg.Now().UTC()
	w := workspaceRecord{ID: First, Name: Uncategorized, UserID: firstOwner, Created: now}
	p := projectRecord{ID: First, WorkspaceID: First, Name: Uncategorized, Key: firstKey, UserID: firstOwner, Created: now}
	err := s.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(putWorkspace(tx, w), putProject(tx, p))
	})
	if err != nil {
		return err
	}
	s.table.keepProject(p)
	return s.table.keepWorkspace(w)
}

const (
	// firstOwner is the user admin.
	firstOwner int32 = 1
	firstKey         = "UNC"
)
