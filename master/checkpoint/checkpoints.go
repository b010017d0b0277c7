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

// Tasks runs the tasks that delete files; task.Tasks implements it. All methods are idempotent.
type Tasks interface {
	Start(ctx context.Context, o task.StartOrder) error
	// End kills the run of a task, or ends a task that waits for its next run.
	End(ctx context.Context, id rm.TaskID, reason string) error
	Change(ctx context.Context, job rm.JobID, c rm.Change) error
	// BoardsOf returns the TensorBoards that show an experiment and have not ended.
	BoardsOf(experiment int32) []rm.TaskID
}

// Config configures New. Store, Tasks and Workspace are required.
type Config struct {
	Store *store.Store
	Tasks Tasks
	// Workspace returns the workspace of a project.
	Workspace func(project int32) (int32, error)
	// Pool returns the resource pool for the tasks of an experiment: own, or another pool if own no
	// longer exists. It defaults to own.
	Pool func(own string) string
	// Defaults returns the task container defaults of a resource pool. It may be nil.
	Defaults func(pool string) container.Defaults
	// Storages returns the storages that administrators have configured for the cluster and the
	// workspaces. It may be nil.
	Storages func() []config.CheckpointStorage
	// Buckets opens storages that are not directories of this machine.
	Buckets Buckets
	// Backoff is the delay before a deletion is retried. It doubles with each failure up to one hour
	// and defaults to one minute.
	Backoff time.Duration
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Checkpoints stores and deletes checkpoints. It is safe for concurrent use.
type Checkpoints struct {
	cfg  Config
	uses *uses
	wake chan struct{}
}

// New returns the checkpoints of a store. Run must be called to delete files. It returns an error if
// a required dependency is missing.
func New(cfg Config) (*Checkpoints, error) {
	if cfg.Store == nil || cfg.Tasks == nil || cfg.Workspace == nil {
		return nil, errors.New("keep checkpoints: store, tasks and workspaces are required")
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

// CheckSource returns an error if training cannot start from a checkpoint; see the function
// CheckSource.
func (c *Checkpoints) CheckSource(tx *store.Tx, uuid string) error {
	_, err := CheckSource(context.Background(), tx, uuid) //nolint:forbidigo // a transaction has its own
	return err
}

// KeepSource protects the checkpoint from which the trials of an open experiment start. An empty
// uuid ends the protection.
func (c *Checkpoints) KeepSource(tx *store.Tx, experiment int32, uuid string) error {
	if uuid == "" {
		return Release(tx, SourceOf(experiment))
	}
	_, err := Refer(context.Background(), tx, SourceOf(experiment), uuid) //nolint:forbidigo // as above
	return err
}
