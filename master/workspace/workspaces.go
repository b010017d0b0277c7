// Package workspace keeps the workspaces of the cluster and the projects in them: what
// tasks and experiments belong to, and which pools, which storage of checkpoints and
// which Unix account they get when they name none.
//
// There is always the workspace "Uncategorized" with the project "Uncategorized", both
// with the id 1. They cannot be changed.
//
// All of it is in memory, because every task and every list asks, and is written through
// to the store.
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
	"github.com/det-deploy/det-deploy/master/store"
)

// Uncategorized is the name of the first workspace and of its first project.
const Uncategorized = "Uncategorized"

// First is the id of the first workspace and of its first project.
const First int32 = 1

// Users is who the owners are. auth.Auth has these methods.
type Users interface {
	User(id int32) (*apiv1.User, error)
}

// Config is what Open needs.
type Config struct {
	Store *store.Store
	Users Users
	// Pools is the names of the pools there are; nil is not known.
	Pools func() []string
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Log may be nil.
	Log *slog.Logger
}

// Workspaces is safe for concurrent use.
type Workspaces struct {
	*shared
	*reader
	*views
	*spaces
	*projectEdits
	*deletions
}

// shared is what all parts have in common.
type shared struct {
	cfg   Config
	table *table

	// change is held by each change, from the look at what there is until memory agrees
	// with the store again. Readers never wait for it.
	change sync.Mutex

	// experiments and contents are there once Attach was called.
	experiments atomic.Pointer[Experiments]
	contents    []Content
}

// poolNames is the pools of the cluster, nil where they are not known.
func (s *shared) poolNames() []string {
	if s.cfg.Pools == nil {
		return nil
	}
	return s.cfg.Pools()
}

// Open reads workspaces and projects from the store, which must be leased, and makes the
// first ones in a store without any.
func Open(ctx context.Context, cfg Config) (*Workspaces, error) {
	if cfg.Store == nil || cfg.Users == nil {
		return nil, errors.New("open workspaces: store and users are both needed")
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
		return nil, fmt.Errorf("make the first workspace: %w", err)
	}
	v := &views{s}
	return &Workspaces{
		shared: s, reader: &reader{s}, views: v, spaces: &spaces{shared: s, views: v},
		projectEdits: &projectEdits{shared: s, views: v}, deletions: newDeletions(s),
	}, nil
}

// Attach says what is in projects, nil for nothing, and what else is in workspaces. It is
// called once, before anything is changed.
func (s *shared) Attach(e Experiments, contents ...Content) {
	if e != nil {
		s.experiments.Store(&e)
	}
	s.contents = contents
}

// seedStore makes the first workspace and its first project where there are none.
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
