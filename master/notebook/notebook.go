// Package notebook watches the programs of notebooks: a notebook is ready when its JupyterLab answers, and
// is ended when nobody has used it for the time that its configuration or the cluster allows.
//
//	Notebooks ─▶ those that are due ─▶ ask Jupyter through rm.Streams ─▶ Ready, or decide: keep, warn, end
//
// The times of use are in memory only: a restarted master begins to count anew.
package notebook

import (
	"context"
	"fmt"
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
	// Notebooks returns the running ones.
	Notebooks() []task.Notebook
	// Ready records that an allocation serves its pages.
	Ready(ctx context.Context, allocation string) error
	// WarnIdle adds a warning to the log of an allocation, and EndIdle kills it.
	WarnIdle(ctx context.Context, id rm.AllocationID, text string) error
	EndIdle(ctx context.Context, id rm.AllocationID, reason string) error
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
	cfg Config
	// of is used by Run, and each value by one look at a time.
	of map[rm.AllocationID]*state
}

// state is the use of a notebook and the time of the next look.
type state struct {
	idle.Use

	// next is when it is looked at again.
	next time.Time
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
	return &Watch{cfg: cfg, of: map[rm.AllocationID]*state{}}
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
	w.forgetEnded(list)
	var g errgroup.Group
	g.SetLimit(together)
	for _, n := range list {
		if n.Ready && n.IdleTimeout == 0 {
			continue
		}
		if s := w.stateOf(n); !s.next.After(w.cfg.Now()) {
			g.Go(func() error {
				w.lookAt(ctx, n, s)
				return nil
			})
		}
	}
	_ = g.Wait() // it returns no error
}

// forgetEnded removes the states of notebooks that do not run.
func (w *Watch) forgetEnded(list []task.Notebook) {
	running := make(map[rm.AllocationID]bool, len(list))
	for _, n := range list {
		running[n.Allocation] = true
	}
	for id := range w.of {
		if !running[id] {
			delete(w.of, id)
		}
	}
}

// stateOf returns the state of a notebook, which counts as used when it is first seen.
func (w *Watch) stateOf(n task.Notebook) *state {
	s, found := w.of[n.Allocation]
	if !found {
		s = &state{Use: idle.Use{Last: w.cfg.Now()}}
		w.of[n.Allocation] = s
	}
	return s
}

// lookAt asks one notebook, and records that it is ready, or whether it is used.
func (w *Watch) lookAt(ctx context.Context, n task.Notebook, s *state) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	q := w.open(n)
	defer q.close()
	if !n.Ready {
		if q.answers(ctx) {
			s.Use = idle.Use{Last: w.cfg.Now()}
			w.report(n, w.cfg.Tasks.Ready(ctx, string(n.Allocation)))
		}
		return
	}
	s.next = w.cfg.Now().Add(min(longest, n.IdleTimeout/looks))
	found, err := q.look(ctx)
	if err != nil { // its machine may be away; it is not known to be unused
		w.cfg.Log.Debug("cannot ask a notebook about its use", "allocation_id", n.Allocation, "err", err)
		return
	}
	found.Visits = w.cfg.Visits(n.Container)
	s.Use = s.Note(found.lastUse(n.IdleType, s.Last, w.cfg.Now()))
	w.report(n, w.apply(ctx, n, s))
}

// apply carries out the decision about a notebook.
func (w *Watch) apply(ctx context.Context, n task.Notebook, s *state) error {
	now := w.cfg.Now()
	switch s.Decide(n.IdleTimeout, now) {
	case idle.Warn:
		text := fmt.Sprintf("Nobody uses this notebook: it will be ended in %v. Open its page to keep it", s.Left(n.IdleTimeout, now))
		if err := w.cfg.Tasks.WarnIdle(ctx, n.Allocation, text); err != nil {
			return err
		}
		s.Warned = now
	case idle.End:
		return w.cfg.Tasks.EndIdle(ctx, n.Allocation, fmt.Sprintf("ended after %v without use (idle_timeout)", n.IdleTimeout))
	case idle.Keep:
	}
	return nil
}

// report logs an error; the next look repeats the attempt.
func (w *Watch) report(n task.Notebook, err error) {
	if err != nil {
		w.cfg.Log.Warn("cannot record the state of a notebook; trying again", "allocation_id", n.Allocation, "err", err)
	}
}
