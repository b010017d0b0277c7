package tensorboard

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/idle"
)

// every is the interval between looks at the TensorBoards.
const every = time.Second

// Served are the running TensorBoards. *task.Tasks implements it.
type Served interface {
	// Boards returns all of them.
	Boards() []task.ServedBoard
	// WarnIdle adds a warning to the log of an allocation, and EndIdle kills it.
	WarnIdle(ctx context.Context, id rm.AllocationID, text string) error
	EndIdle(ctx context.Context, id rm.AllocationID, reason string) error
}

// WatchConfig configures NewWatch. Now and Log are optional.
type WatchConfig struct {
	Tasks Served
	// Visits returns the number of open requests of visitors to a container.
	Visits func(rm.ContainerID) int
	Now    func() time.Time
	Log    *slog.Logger
}

// Watch ends TensorBoards that nobody visits. The times of use are in memory only: a restarted master begins to
// count anew.
type Watch struct {
	cfg WatchConfig

	mu sync.Mutex // guards of
	of map[rm.ContainerID]*use
}

// use is that of one TensorBoard.
type use struct {
	idle.Use

	ready bool
}

// NewWatch returns a watch that has looked at nothing yet.
func NewWatch(cfg WatchConfig) *Watch {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Watch{cfg: cfg, of: map[rm.ContainerID]*use{}}
}

// Visited notes that a visitor's request to a container has ended. Other containers are ignored.
func (w *Watch) Visited(c rm.ContainerID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u, found := w.of[c]; found {
		u.Use = u.Note(w.cfg.Now())
	}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for wait.For(ctx, every) == nil {
		w.lookAtAll(ctx)
	}
}

func (w *Watch) lookAtAll(ctx context.Context) {
	list := w.cfg.Tasks.Boards()
	w.forgetEnded(list)
	for _, b := range list {
		if err := w.lookAt(ctx, b); err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("cannot record that a TensorBoard is unused; trying again", "allocation_id", b.Allocation, "err", err)
		}
	}
}

// forgetEnded removes what is known about TensorBoards that do not run.
func (w *Watch) forgetEnded(list []task.ServedBoard) {
	running := make(map[rm.ContainerID]bool, len(list))
	for _, b := range list {
		running[b.Container] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.of {
		if !running[c] {
			delete(w.of, c)
		}
	}
}

// longestStart is how long clients wait for a TensorBoard that has nothing to show yet.
const longestStart = 30 * time.Minute

// limitOf returns the time without use after which a TensorBoard is ended.
func limitOf(b task.ServedBoard) time.Duration {
	if b.Ready {
		return b.IdleTimeout
	}
	return max(b.IdleTimeout, longestStart)
}

// lookAt carries out the decision about one TensorBoard.
func (w *Watch) lookAt(ctx context.Context, b task.ServedBoard) error {
	now, limit := w.cfg.Now(), limitOf(b)
	u := w.noteUse(b, now)
	switch u.Decide(limit, now) {
	case idle.Warn:
		text := fmt.Sprintf("Nobody uses this TensorBoard: it will be ended in %v. Open its page to keep it", u.Left(limit, now))
		if err := w.cfg.Tasks.WarnIdle(ctx, b.Allocation, text); err != nil {
			return err
		}
		w.noteWarning(b.Container, u, now)
	case idle.End:
		reason := fmt.Sprintf("ended after %v without use (idle_timeout)", limit)
		if !b.Ready {
			reason = fmt.Sprintf("ended after %v without metrics to show", limit)
		}
		return w.cfg.Tasks.EndIdle(ctx, b.Allocation, reason)
	case idle.Keep:
	}
	return nil
}

// noteUse returns the use of a TensorBoard, which counts as used when it is first seen, when it is ready and while
// a request is open.
func (w *Watch) noteUse(b task.ServedBoard, now time.Time) idle.Use {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, found := w.of[b.Container]
	switch {
	case !found || u.ready != b.Ready:
		u = &use{idle.Use{Last: now}, b.Ready}
		w.of[b.Container] = u
	case w.cfg.Visits(b.Container) > 0:
		u.Use = u.Note(now)
	}
	return u.Use
}

// noteWarning records the warning, unless the TensorBoard was used meanwhile.
func (w *Watch) noteWarning(c rm.ContainerID, as idle.Use, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u, found := w.of[c]; found && u.Use == as {
		u.Warned = now
	}
}
