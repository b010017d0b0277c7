package tensorboard

import (
	"context"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/idle"
)

// every is the interval between looks at the TensorBoards.
const every = time.Second

// Served are the running TensorBoards. *task.Tasks implements it.
type Served interface {
	idle.Tasks
	// Boards returns all of them.
	Boards() []idle.Task
}

// WatchConfig configures NewWatch. Now and Log are optional.
type WatchConfig struct {
	Tasks Served
	// Visits returns the number of open requests of visitors to a container.
	Visits func(rm.ContainerID) int
	Now    func() time.Time
	Log    *slog.Logger
}

// Watch ends TensorBoards that nobody visits.
type Watch struct {
	*idle.Watch

	cfg WatchConfig
}

// NewWatch returns a watch that has looked at nothing yet.
func NewWatch(cfg WatchConfig) *Watch {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Watch{idle.NewWatch(idle.Config{Tasks: cfg.Tasks, Visits: cfg.Visits, Now: cfg.Now}), cfg}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for wait.For(ctx, every) == nil {
		w.lookAtAll(ctx)
	}
}

func (w *Watch) lookAtAll(ctx context.Context) {
	list := w.cfg.Tasks.Boards()
	w.SetRunning(list)
	for _, b := range list {
		if err := w.Judge(ctx, b, groundOf(b)); err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("cannot record that a TensorBoard is unused; trying again", "allocation_id", b.Allocation, "err", err)
		}
	}
}

// groundOf returns the reason for the end of a TensorBoard. One that is not ready has nothing to show.
func groundOf(b idle.Task) idle.Ground {
	g := idle.Ground{Warning: "Nobody uses this TensorBoard", Advice: "Open its page to keep it", Unused: "without use (idle_timeout)"}
	if !b.Ready {
		g.Unused = "without metrics to show"
	}
	return g
}
