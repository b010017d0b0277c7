// Package notebook watches the programs of notebooks: a notebook is ready when its JupyterLab answers, and
// is ended when nobody has used it for the time that its configuration or the cluster allows.
//
//	Notebooks ─▶ those that are due ─▶ ask Jupyter through rm.Streams ─▶ Ready, or used ─▶ idle.Watch: keep, warn, end
package notebook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/idle"
)

// Tasks are the notebooks of the cluster. master/task implements it.
type Tasks interface {
	idle.Tasks
	// Notebooks returns the running ones.
	Notebooks() []task.Notebook
	// Ready records that an allocation serves its pages.
	Ready(ctx context.Context, allocation string) error
}

// Config configures New. All fields except for Now and Log must be set.
type Config struct {
	Tasks Tasks
	// Streams returns the streams of the resource manager.
	Streams func() rm.Streams
	// Visits returns the number of open requests of visitors to a container.
	Visits func(rm.ContainerID) int
	// Now is the clock; nil selects the system's.
	Now func() time.Time
	Log *slog.Logger
}

// Watch watches all notebooks.
type Watch struct {
	*idle.Watch

	cfg Config
	// next is when a notebook is looked at again. It is used by Run alone.
	next map[rm.ContainerID]time.Time
}

const (
	// every is the interval between looks at notebooks that start.
	every = time.Second
	// A ready notebook is looked at twenty times within its time limit, and at least every half minute.
	longest, looks = 30 * time.Second, 20
	// together is the number of notebooks that are asked at once.
	together = 16
)

// New returns a watch that has looked at nothing yet.
func New(cfg Config) *Watch {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Watch{idle.NewWatch(idle.Config{Tasks: cfg.Tasks, Visits: cfg.Visits, Now: cfg.Now}), cfg, nil}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for wait.For(ctx, every) == nil {
		w.lookAtAll(ctx)
	}
}

// lookAtAll looks at the notebooks that are due.
func (w *Watch) lookAtAll(ctx context.Context) {
	list := w.cfg.Tasks.Notebooks()
	w.SetRunning(tasksOf(list))
	now, former := w.cfg.Now(), w.next
	w.next = make(map[rm.ContainerID]time.Time, len(list))
	var g errgroup.Group
	g.SetLimit(together)
	for _, n := range list {
		next := former[n.Container]
		if n.Ready && n.IdleTimeout == 0 {
			continue
		}
		if !next.After(now) {
			next = now.Add(pauseOf(n))
			g.Go(func() error {
				if err := w.lookAt(ctx, n); err != nil && ctx.Err() == nil {
					w.cfg.Log.Warn("cannot record the state of a notebook; trying again", "allocation_id", n.Allocation, "err", err)
				}
				return nil
			})
		}
		w.next[n.Container] = next
	}
	_ = g.Wait() // it returns no error
}

func tasksOf(list []task.Notebook) []idle.Task {
	out := make([]idle.Task, 0, len(list))
	for _, n := range list {
		out = append(out, n.Task)
	}
	return out
}

// pauseOf returns the time until the next look at a notebook.
func pauseOf(n task.Notebook) time.Duration {
	if !n.Ready {
		return 0
	}
	return min(longest, n.IdleTimeout/looks)
}

// lookAt asks one notebook, and records that it is ready, or whether it is used.
func (w *Watch) lookAt(ctx context.Context, n task.Notebook) error {
	found, err := w.ask(ctx, n)
	switch {
	case ctx.Err() != nil, errors.Is(err, errAway):
		return nil //nolint:nilerr // it is not known to be unused
	case err != nil:
		w.cfg.Log.Debug("a notebook does not answer", "allocation_id", n.Allocation, "err", err)
		n.Ready = false
		return w.Judge(ctx, n.Task, silent)
	case !n.Ready:
		return w.cfg.Tasks.Ready(ctx, string(n.Allocation))
	}
	w.Used(n.Container, found.lastUse(n.IdleType, w.cfg.Now()))
	return w.Judge(ctx, n.Task, unused)
}

// ask returns the use of a notebook, or only whether it answers if it is not ready.
func (w *Watch) ask(ctx context.Context, n task.Notebook) (seen, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	q := w.open(n)
	defer q.close()
	if !n.Ready {
		return seen{}, q.answers(ctx)
	}
	return q.look(ctx)
}

// The reasons for the end of a notebook. One that does not answer has as much time as one that starts.
var (
	unused = idle.Ground{Warning: "Nobody uses this notebook", Advice: "Open its page to keep it", Unused: "without use (idle_timeout)"}
	silent = idle.Ground{
		Warning: "JupyterLab of this notebook does not answer", Advice: "Its files can be copied by det-deploy task cp",
		Unused: "in which its JupyterLab did not answer (idle_timeout)",
	}
)
