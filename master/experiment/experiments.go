// Package experiment runs experiments. It creates them, passes the reports of trials to their
// searches, carries out the decisions of the searches and the requests of users, and stores all
// state so that it survives restarts.
//
//	report, request, end of a run ──▶ one transaction: metric, event, trials, experiment ──▶ answer
//	                                         │
//	                            documents ───┴──▶ reconcile ──▶ tasks: start, signal, end
//
// The changes of one experiment are ordered: each transaction includes all changes that wait for the
// experiment. A level-triggered reconciler then makes the tasks match the documents. If the master is
// killed in between, it reconciles after its next start.
package experiment

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// Config configures Open. Templates, Storage, Quota, Now and Log are optional.
type Config struct {
	Store  *store.Store
	Tasks  Tasks
	Places Places
	// Metrics stores reported metrics, Checkpoints reported checkpoints.
	Metrics     Metrics
	Checkpoints Checkpoints
	// Templates may be nil.
	Templates Templates
	// Storage is the default checkpoint storage of experiments and workspaces.
	Storage *config.CheckpointStorage
	// Quota limits the storage of each user; nil means no limit.
	Quota *quota.Quota
	// Contexts are the directories that users send before their experiments; nil selects those of
	// Store without a limit.
	Contexts *bundle.Contexts
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// Experiments holds the experiments. Each of its parts implements one aspect. It is safe for
// concurrent use.
type Experiments struct {
	*creations
	*requests
	*reports
	*views
	*runs
	*elsewhere
	*reconciler
}

// shared is the state that all parts use.
type shared struct {
	cfg Config
	reg *registry
	// dirty is the queue of experiments to reconcile.
	dirty *dirty
	// since is the start of this master.
	since time.Time
}

var (
	_ task.Owner      = (*Experiments)(nil)
	_ task.LogWatcher = (*Experiments)(nil)
)

// Open loads the experiments from the store, which must hold its lease. Reconcile must be called to
// start tasks. It returns an error if a required dependency is missing or the store cannot be read.
func Open(ctx context.Context, cfg Config) (*Experiments, error) {
	if cfg.Store == nil || cfg.Tasks == nil || cfg.Places == nil || cfg.Metrics == nil || cfg.Checkpoints == nil {
		return nil, errors.New("open experiments: store, tasks, places, metrics and checkpoints are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Contexts == nil {
		cfg.Contexts = bundle.New(bundle.Config{Store: cfg.Store, Quota: cfg.Quota, Now: cfg.Now})
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &shared{cfg: cfg, reg: newRegistry(), dirty: newDirty(), since: cfg.Now()}
	if err := s.loadAll(ctx); err != nil {
		return nil, err
	}
	if err := s.countStored(ctx); err != nil {
		return nil, err
	}
	return &Experiments{
		creations: &creations{shared: s}, requests: &requests{s}, reports: &reports{s}, views: &views{s}, runs: &runs{s}, elsewhere: &elsewhere{s}, reconciler: &reconciler{s},
	}, nil
}

// Tasks runs the tasks of trials; task.Tasks implements it. All methods are idempotent.
type Tasks interface {
	Place(user *apiv1.User, workspaceID int32, pool string, slots *int) (task.Place, error)
	Admit(user *apiv1.User, order task.StartOrder, asked policy.Asked) (task.Admission, error)
	// LimitChange returns PermissionDenied if the user may not make a change of a job.
	LimitChange(by *apiv1.User, pool string, priority int, c rm.Change) (rm.Change, error)
	Start(ctx context.Context, order task.StartOrder) error
	Signal(ctx context.Context, id rm.TaskID, reason string) error
	End(ctx context.Context, id rm.TaskID, reason string) error
	Change(ctx context.Context, job rm.JobID, c rm.Change) error
	Status(id rm.TaskID) (task.Status, bool)
	// Held returns the tasks of a job that wait for Start or End.
	Held(job rm.JobID) []rm.TaskID
	Forget(ctx context.Context, id rm.TaskID) error
	DropLog(ctx context.Context, id rm.TaskID) error
	Write(ctx context.Context, id rm.TaskID, level log.Level, text string) error
}

// Metrics stores metrics; metric.Metrics implements it.
type Metrics interface {
	// Put stores a report and returns all known metrics of the same group and step. It is
	// idempotent. If it returns a status.Error, the report was not stored and the transaction may
	// continue. Base is the step of the checkpoint from which the run continued: the first report of
	// a run replaces the reports of earlier runs beyond it.
	Put(ctx context.Context, tx *store.Tx, r metric.Report) (metric.Stored, error)
	// Delete deletes the metrics of a trial, whose size was counted for owner.
	Delete(tx *store.Tx, trial int64, owner int32) error
}

var _ Metrics = (*metric.Metrics)(nil)

// Checkpoints stores checkpoints.
type Checkpoints interface {
	// CheckSource returns an error if the checkpoint does not exist or is being deleted. It is
	// called in the transaction that adds a reference to it.
	CheckSource(tx *store.Tx, id string) error
	// KeepSource protects the checkpoint from which the trials of an open experiment start; an empty
	// ID ends the protection. The checkpoints of trials are protected by their documents. It returns
	// the errors of CheckSource.
	KeepSource(tx *store.Tx, experiment int32, id string) error
	// Collect requests the deletion of the checkpoints that the policy does not keep, in the
	// transaction that ends the experiment or changes its policy. Call Wake after the commit.
	Collect(tx *store.Tx, experiment int32) error
	Wake()
	// CheckReaders returns an error if the files of an experiment must not be deleted yet.
	CheckReaders(experiment int32) error
	// DeleteAll marks all checkpoints of an experiment for deletion and returns the number of those
	// that still exist; the caller repeats it until that is 0. The experiment must be DELETING. It
	// returns FailedPrecondition, and marks no checkpoint, if one of them is in use.
	DeleteAll(ctx context.Context, experiment int32) (left int, err error)
	// ForgetAll deletes the records of all checkpoints of an experiment and leaves the files. It has
	// the conditions and errors of DeleteAll.
	ForgetAll(ctx context.Context, experiment int32) error
}

// Places returns workspaces and projects; workspace.Workspaces implements it.
type Places interface {
	Workspace(id int32) (workspace.Workspace, error)
	Project(id int32) (workspace.Project, error)
	ProjectNamed(workspace, name string) (workspace.Project, error)
	// OpenProject returns an error if the project does not accept experiments. It is called in the
	// transaction that stores one.
	OpenProject(ctx context.Context, tx *store.Tx, id int32) (workspace.Project, error)
}

// Templates returns templates.
type Templates interface {
	// Template returns the configuration of a template as submitted, or NotFound.
	Template(ctx context.Context, name string) ([]byte, error)
}
