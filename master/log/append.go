package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// waitingBytes limits the lines of all tasks that wait to be written. Beyond it Append blocks,
	// and with it the sending agent.
	waitingBytes = 64 << 20
	// flushBytes limits the lines of one write.
	flushBytes = 8 << 20
	// stateLimit is the number of tasks whose state is cached; the state of others is read again.
	stateLimit = 1024
)

// Logs stores the log lines of all tasks. It is safe for concurrent use.
type Logs struct {
	store   *store.Store
	waiting *semaphore.Weighted
	loops   sync.WaitGroup
	limit   int64 // for the log of one task in bytes, 0 for no limit
	users   users
	life    context.Context // for flushes, which contain lines of several callers
	deleted atomic.Int64    // lines

	mu     sync.Mutex // guards the fields below
	closed bool
	tasks  map[string]*task
	wake   map[string]chan struct{} // closed by the next lines of the task
}

// ErrClosed is returned by appends after Close.
var ErrClosed = errors.New("the task logs are closed")

// ErrGap matches a GapError.
var ErrGap = errors.New("lines are missing")

// GapError is returned for a batch that starts after the next expected line. The sender must
// continue from Want.
type GapError struct {
	Task, Container string
	Want, Got       int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("append log of task %q container %q: %v: got line %d, expected line %d; send from there",
		e.Task, e.Container, ErrGap, e.Got, e.Want)
}

// Is reports whether target is ErrGap.
func (e *GapError) Is(target error) bool { return target == ErrGap }

// New returns the logs in s. They must be closed before s.
func New(ctx context.Context, s *store.Store) *Logs {
	return &Logs{
		store:   s,
		waiting: semaphore.NewWeighted(waitingBytes),
		life:    context.WithoutCancel(ctx),
		tasks:   map[string]*task{},
		wake:    map[string]chan struct{}{},
	}
}

// LimitTask limits the stored size of each task's log in bytes; 0 means no limit. It must be called
// before the first append. Further output of the task is dropped, which a line in the log reports;
// lines of the master are still stored.
func (l *Logs) LimitTask(bytes int64) { l.limit = bytes }

// Close waits until all accepted lines are written.
func (l *Logs) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.loops.Wait()
}

// Append stores a container's lines. It returns the next expected sequence number after the lines
// are durable. Lines that are already stored are skipped, so that a batch may be repeated after any
// failure. It returns a GapError if lines before the batch are missing.
func (l *Logs) Append(ctx context.Context, b Batch) (next int64, err error) {
	if b.FirstSeq < 0 {
		return 0, fmt.Errorf("append log of task %q: first sequence number: must not be negative (%d)", b.Task, b.FirstSeq)
	}
	return l.enqueueRequest(ctx, &request{batch: b, sequenced: true})
}

// AppendUnsequenced stores lines without sequence numbers: lines from the API and from the master.
// Repeated lines are stored twice. FirstSeq is ignored.
func (l *Logs) AppendUnsequenced(ctx context.Context, b Batch) error {
	_, err := l.enqueueRequest(ctx, &request{batch: b})
	return err
}

// Delete deletes a task's lines. Its containers must have ended and all their lines must be
// acknowledged; otherwise further lines would cause a GapError.
func (l *Logs) Delete(ctx context.Context, taskID string) error {
	lines, err := l.enqueueRequest(ctx, &request{batch: Batch{Task: taskID}, remove: true})
	if err == nil {
		l.deleted.Add(lines)
	}
	return err
}

// Deleted returns the number of lines that were deleted since New.
func (l *Logs) Deleted() int64 { return l.deleted.Load() }

// request is one append in the queue.
type request struct {
	batch     Batch
	sequenced bool
	remove    bool
	size      int64
	next      int64
	done      chan error
	refusal   error // set by the flusher if only this request fails
	lent      *loan // instead of lines; see Join
}

// loan passes the end of a task's log from its flusher to a Joined.
type loan struct{ began, ended chan struct{} }

func (l *Logs) enqueueRequest(ctx context.Context, r *request) (int64, error) {
	r.done = make(chan error, 1)
	if err := l.awaitRoom(ctx, r); err != nil {
		return 0, err
	}
	defer l.waiting.Release(r.size)
	if err := l.assignFlusher(r); err != nil {
		return 0, err
	}
	// From here on the lines will be written. Wait for the result even if ctx is done, because it
	// determines whether they are stored.
	err := <-r.done
	return r.next, err
}

// awaitRoom waits for room for the request's lines. The caller must release it.
func (l *Logs) awaitRoom(ctx context.Context, r *request) error {
	for _, line := range r.batch.Lines {
		r.size += int64(len(line.Text)) + 64 // for the line's other fields
	}
	r.size = min(r.size, waitingBytes)
	return l.waiting.Acquire(ctx, r.size)
}

// assignFlusher queues the request for its task's flusher, and starts the flusher if necessary.
func (l *Logs) assignFlusher(r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	t := l.findTask(r.batch.Task)
	t.pending = append(t.pending, r)
	if !t.flushing {
		t.flushing = true
		l.loops.Go(func() { l.flushPending(t) })
	}
	return nil
}

// findTask returns the state of a task's log. The caller holds mu.
func (l *Logs) findTask(id string) *task {
	t := l.tasks[id]
	if t == nil {
		l.forgetOne()
		t = &task{id: id, limit: l.limit, users: l.users}
		l.tasks[id] = t
	}
	return t
}

func (l *Logs) forgetOne() {
	if len(l.tasks) < stateLimit {
		return
	}
	for id, t := range l.tasks {
		if !t.flushing {
			delete(l.tasks, id)
			return
		}
	}
}

// flushPending writes until no requests are pending. Requests that arrive during a write form the
// next group, so that small appends are batched and a single one is not delayed.
func (l *Logs) flushPending(t *task) {
	for {
		group := l.takePending(t)
		if group == nil {
			return
		}
		if lent := group[0].lent; lent != nil {
			close(lent.began)
			<-lent.ended
			continue
		}
		err := t.writeGroup(l.life, l.store, group, time.Now())
		if err != nil {
			t.loaded = false
		} else {
			l.wakeFollowers(t.id)
		}
		for _, r := range group {
			r.done <- cmp.Or(r.refusal, err)
		}
	}
}

func (l *Logs) takePending(t *task) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var size int64
	n := 0
	for n < len(t.pending) {
		r := t.pending[n]
		if n > 0 && (r.lent != nil || size+r.size > flushBytes) {
			break
		}
		size += r.size
		if n++; r.lent != nil {
			break // a loan forms a group by itself
		}
	}
	if n == 0 {
		t.flushing = false
		return nil
	}
	group := t.pending[:n:n]
	t.pending = t.pending[n:]
	return group
}

// wakeFollowers wakes the task's followers.
func (l *Logs) wakeFollowers(taskID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, waited := l.wake[taskID]; waited {
		close(c)
		delete(l.wake, taskID)
	}
}

// nextLines returns a channel that is closed by the next lines of the task.
func (l *Logs) nextLines(taskID string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.wake[taskID]
	if c == nil {
		c = make(chan struct{})
		l.wake[taskID] = c
	}
	return c
}
