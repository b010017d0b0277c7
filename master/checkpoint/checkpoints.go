package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// Tasks runs the tasks that delete files. All of it may be repeated; task.Tasks has it.
type Tasks interface {
	Start(ctx context.Context, o task.StartOrder) error
	Change(ctx context.Context, job rm.JobID, c rm.Change) error
}

// Config is what New needs. Store, Tasks and Workspace must be set.
type Config struct {
	Store *store.Store
	Tasks Tasks
	// Workspace is the workspace of a project.
	Workspace func(project int32) (int32, error)
	// Pool is the pool of an experiment, or another one if that no longer exists; nil is the experiment's.
	Pool func(own string) string
	// Defaults is what the containers of a pool get; nil is nothing.
	Defaults func(pool string) container.Defaults
	// Storages lists the storages that administrators have configured: the cluster's and the workspaces'. Nil is none.
	Storages func() []config.CheckpointStorage
	// Buckets opens those that are not directories of this machine.
	Buckets Buckets
	// Backoff is how long after a first failure a deletion is tried again, twice as long after each further
	// one, up to an hour; a minute when zero.
	Backoff time.Duration
	// Now is the clock; nil is the system's.
	Now func() time.Time
	Log *slog.Logger
}

// Checkpoints is safe for concurrent use.
type Checkpoints struct {
	cfg  Config
	uses *uses
	wake chan struct{}
}

// New keeps checkpoints in a store. Nothing is deleted before Run.
func New(cfg Config) (*Checkpoints, error) {
	if cfg.Store == nil || cfg.Tasks == nil || cfg.Workspace == nil {
		return nil, errors.New("keep checkpoints: store, tasks and workspaces are all needed")
	}
	if cfg.Pool == nil {
		cfg.Pool = func(own string) string { return own }
	}
	if cfg.Defaults == nil {
		cfg.Defaults = func(string) container.Defaults { return container.Defaults{} }
	}
	if cfg.Storages == nil {
		cfg.Storages = func() []config.CheckpointStorage { return nil }
	}
	if cfg.Backoff == 0 {
		cfg.Backoff = time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Checkpoints{cfg: cfg, uses: newUses(), wake: make(chan struct{}, 1)}, nil
}

// CheckSource refuses a checkpoint that training cannot start from; see the function.
func (c *Checkpoints) CheckSource(tx *store.Tx, uuid string) error {
	_, err := CheckSource(context.Background(), tx, uuid) //nolint:forbidigo // a transaction has its own
	return err
}

// KeepSource makes the checkpoint that an open experiment's trials start from stay; an
// empty one ends that.
func (c *Checkpoints) KeepSource(tx *store.Tx, experiment int32, uuid string) error {
	if uuid == "" {
		return Release(tx, SourceOf(experiment))
	}
	_, err := Refer(context.Background(), tx, SourceOf(experiment), uuid) //nolint:forbidigo // as above
	return err
}
