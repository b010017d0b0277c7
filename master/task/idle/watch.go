package idle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Task is a running task that serves people.
type Task struct {
	Allocation rm.AllocationID
	Container  rm.ContainerID
	// Ready reports that it has served something.
	Ready bool
	// IdleTimeout is the time without use after which it is ended; zero is never.
	IdleTimeout time.Duration
}

// limit returns the time without use after which a task is ended.
func (t Task) limit() time.Duration {
	if t.Ready {
		return t.IdleTimeout
	}
	return max(t.IdleTimeout, longestStart)
}

// longestStart is how long clients wait for a task that is not ready yet.
const longestStart = 30 * time.Minute

// Ground is the reason for which a task is ended, in the words of its log.
type Ground struct {
	// Warning says that it is unused, and Advice how to keep it.
	Warning, Advice string
	// Unused continues "ended after 1h0m0s".
	Unused string
}

// Tasks warns and ends tasks. *task.Tasks implements it.
type Tasks interface {
	// WarnIdle adds a warning to the log of an allocation, and EndIdle kills it.
	WarnIdle(ctx context.Context, id rm.AllocationID, text string) error
	EndIdle(ctx context.Context, id rm.AllocationID, reason string) error
}

// Config configures NewWatch. All fields except for Now must be set.
type Config struct {
	Tasks Tasks
	// Visits returns the number of open requests of visitors to a container.
	Visits func(rm.ContainerID) int
	// Now is the clock; nil selects the system's.
	Now func() time.Time
}

// Watch ends tasks that nobody uses. The times of use are in memory only: a restarted master begins to count
// anew. It is safe for concurrent use.
type Watch struct {
	cfg Config

	mu sync.Mutex // guards of
	of map[rm.ContainerID]*state
}

// state is the use of one task.
type state struct {
	Use

	ready bool
}

// NewWatch returns a watch that knows no task yet.
func NewWatch(cfg Config) *Watch {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Watch{cfg: cfg, of: map[rm.ContainerID]*state{}}
}

// Visited records that a visitor's request to a container has ended. Other containers are ignored.
func (w *Watch) Visited(c rm.ContainerID) { w.Used(c, w.cfg.Now()) }

// Used records that a task was used at a time.
func (w *Watch) Used(c rm.ContainerID, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, found := w.of[c]; found {
		s.Use = s.Note(at)
	}
}

// SetRunning adds the running tasks, and removes all others.
func (w *Watch) SetRunning(tasks []Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	former := w.of
	w.of = make(map[rm.ContainerID]*state, len(tasks))
	for _, t := range tasks {
		s, found := former[t.Container]
		if !found || s.ready != t.Ready {
			s = &state{Use{Last: w.cfg.Now()}, t.Ready}
		}
		w.of[t.Container] = s
	}
}

// Judge warns or ends a running task that was unused for long enough. It counts as used when it is first seen,
// when it becomes ready, and while a request of a visitor is open.
func (w *Watch) Judge(ctx context.Context, t Task, g Ground) error {
	now, limit := w.cfg.Now(), t.limit()
	u, found := w.look(t.Container, now)
	if !found || t.IdleTimeout == 0 {
		return nil
	}
	switch u.Decide(limit, now) {
	case Warn:
		text := fmt.Sprintf("%s: it will be ended in %v. %s", g.Warning, u.Left(limit, now), g.Advice)
		if err := w.cfg.Tasks.WarnIdle(ctx, t.Allocation, text); err != nil {
			return err
		}
		w.noteWarning(t.Container, u, now)
	case End:
		return w.cfg.Tasks.EndIdle(ctx, t.Allocation, fmt.Sprintf("ended after %v %s", limit, g.Unused))
	case Keep:
	}
	return nil
}

// look returns the use of a container, after a look at its visitors.
func (w *Watch) look(c rm.ContainerID, now time.Time) (u Use, found bool) {
	visits := w.cfg.Visits(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	s, found := w.of[c]
	if !found {
		return Use{}, false
	}
	if visits > 0 {
		s.Use = s.Note(now)
	}
	return s.Use, true
}

// noteWarning records the warning, unless the task was used meanwhile.
func (w *Watch) noteWarning(c rm.ContainerID, as Use, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, found := w.of[c]; found && s.Use == as {
		s.Warned = now
	}
}
