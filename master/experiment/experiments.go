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

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
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
