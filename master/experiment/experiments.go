// Package experiment runs experiments: it accepts them, gives their searches what their trials
// report, carries out what these decide and what users ask, and remembers all of it through every
// restart.
//
//	report, request, end of a run ──▶ one transaction: metric, event, trials, experiment ──▶ answer
//	                                         │
//	                            documents ───┴──▶ reconcile ──▶ tasks: start, signal, end
//
// What happens to one experiment happens in an order of its own: a transaction takes all that waits
// for it. Tasks are made to match the documents afterwards, level-triggered, so that a master that is
// killed between both acts when it starts again.
package experiment

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
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

// Config is what Open needs. All but Templates, Storage, Quota, Now and Log must be set.
type Config struct {
	Store  *store.Store
	Tasks  Tasks
	Places Places
	// Metrics keeps what programs report, Checkpoints what they save.
	Metrics     Metrics
	Checkpoints Checkpoints
	// Templates is nil where there are none.
	Templates Templates
	// Storage is where checkpoints are kept when neither the experiment nor its workspace says.
	Storage *config.CheckpointStorage
	// Quota counts what users store; nil has no limit.
	Quota *quota.Quota
	// Now is the clock; nil is the system's.
	Now func() time.Time
	Log *slog.Logger
}

// Experiments is safe for concurrent use. Each of its parts does one thing with the experiments that
// all of them share.
type Experiments struct {
	*creations
	*requests
	*reports
	*views
	*runs
	*elsewhere
	*reconciler
}

// shared is what all parts have: the experiments in memory, and what is around them.
type shared struct {
	cfg Config
	reg *registry
	// dirty is woken when there is something to carry out.
	dirty *dirty
	// since is when this master began to listen.
	since time.Time
}

var (
	_ task.Owner      = (*Experiments)(nil)
	_ task.LogWatcher = (*Experiments)(nil)
)

// Open reads the experiments from the store, which must be leased. Nothing is carried out before Reconcile.
func Open(ctx context.Context, cfg Config) (*Experiments, error) {
	if cfg.Store == nil || cfg.Tasks == nil || cfg.Places == nil || cfg.Metrics == nil || cfg.Checkpoints == nil {
		return nil, errors.New("open experiments: store, tasks, places, metrics and checkpoints are all needed")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
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

// Tasks runs trials; task.Tasks does. All of it may be repeated.
type Tasks interface {
	Place(user *apiv1.User, workspaceID int32, pool string, slots *int) (task.Place, error)
	Admit(user *apiv1.User, order task.StartOrder, asked policy.Asked) (task.Admission, error)
	Start(ctx context.Context, order task.StartOrder) error
	Signal(ctx context.Context, id rm.TaskID, reason string) error
	End(ctx context.Context, id rm.TaskID, reason string) error
	Change(ctx context.Context, job rm.JobID, c rm.Change) error
	Status(id rm.TaskID) (task.Status, bool)
	// Held lists the tasks of a job that wait for Start or End.
	Held(job rm.JobID) []rm.TaskID
	Forget(ctx context.Context, id rm.TaskID) error
	DropLog(ctx context.Context, id rm.TaskID) error
	Write(ctx context.Context, id rm.TaskID, level log.Level, text string) error
}

// Metrics keeps what programs report; metric.Metrics does.
type Metrics interface {
	// Put stores a report, once however often it is repeated, and returns all that is known of the
	// same group and step. A refusal is a status.Error, upon which the report was not stored and the
	// transaction may continue. The report's Base is the step of the checkpoint that its run continued
	// from: the run's first report replaces what earlier runs reported beyond it.
	Put(ctx context.Context, tx *store.Tx, r metric.Report) (metric.Stored, error)
	// Delete removes all of a trial, whose reports were counted for a user.
	Delete(tx *store.Tx, trial int64, owner int32) error
}

var _ Metrics = (*metric.Metrics)(nil)

// Checkpoints keeps what programs save.
type Checkpoints interface {
	// CheckSource refuses a checkpoint that does not exist or is being deleted, in the transaction
	// that refers to it from then on.
	CheckSource(tx *store.Tx, id string) error
	// KeepSource makes the checkpoint that the trials of an open experiment start from stay, and ends
	// that with an empty id. The latest checkpoints of open trials and what trials started from are read from
	// their documents. It refuses what CheckSource refuses.
	KeepSource(tx *store.Tx, experiment int32, id string) error
	// Collect asks, in the transaction that ends an experiment or changes its policy, for what its
	// policy does not keep to be deleted. Call Wake once that is stored.
	Collect(tx *store.Tx, experiment int32) error
	Wake()
	// DeleteAll marks all checkpoints of an experiment, which is DELETING already, and says how many it has that are
	// not deleted yet; it is asked again until there are none. It refuses with FailedPrecondition, marking
	// none, when something else needs one of them.
	DeleteAll(ctx context.Context, experiment int32) (left int, err error)
}

// Places answers for workspaces and projects; workspace.Workspaces does.
type Places interface {
	Workspace(id int32) (workspace.Workspace, error)
	Project(id int32) (workspace.Project, error)
	ProjectNamed(workspace, name string) (workspace.Project, error)
	// OpenProject refuses a project that takes no experiments, in the transaction that stores one.
	OpenProject(ctx context.Context, tx *store.Tx, id int32) (workspace.Project, error)
}

// Templates answers for templates.
type Templates interface {
	// Template is the configuration of a template as it was written. The error has the code NotFound.
	Template(ctx context.Context, name string) ([]byte, error)
}
