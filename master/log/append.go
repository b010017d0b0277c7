package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// waitingBytes bounds the lines that wait for the disk, over all tasks. Beyond it
	// Append waits, and so does the agent that sends.
	waitingBytes = 64 << 20
	// flushBytes bounds the lines of one write.
	flushBytes = 8 << 20
	// stateLimit is how many tasks' ends are remembered; others are read again.
	stateLimit = 1024
)

// Logs is the lines of all tasks. It is safe for concurrent use.
type Logs struct {
	store   *store.Store
	waiting *semaphore.Weighted
	loops   sync.WaitGroup
	limit   int64 // of one task's log in bytes, 0 for none
	users   users
	life    context.Context // of the flushes, which carry more than one caller's lines

	mu     sync.Mutex // guards what follows
	closed bool
	tasks  map[string]*task
	wake   map[string]chan struct{} // closed by the next lines of the task
}

// ErrClosed is returned by appends after Close.
var ErrClosed = errors.New("the task logs are closed")

// ErrGap is what a GapError is.
var ErrGap = errors.New("lines are missing")

// GapError refuses a batch that begins after the next expected line. The sender must
// send from Want on.
type GapError struct {
	Task, Container string
	Want, Got       int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("append log of task %q container %q: %v: got line %d, expected line %d; send from there",
		e.Task, e.Container, ErrGap, e.Got, e.Want)
}

// Is makes every GapError an ErrGap.
func (e *GapError) Is(target error) bool { return target == ErrGap }

// New keeps logs in s. Close it before s.
func New(ctx context.Context, s *store.Store) *Logs {
	return &Logs{
		store:   s,
		waiting: semaphore.NewWeighted(waitingBytes),
		life:    context.WithoutCancel(ctx),
		tasks:   map[string]*task{},
		wake:    map[string]chan struct{}{},
	}
}

// LimitTask bounds the log of each task, in bytes as they are stored; 0 is no limit. It
// is called before anything is appended. What a task prints beyond is dropped, and a
// line says so; the master's own lines are kept.
func (l *Logs) LimitTask(bytes int64) { l.limit = bytes }

// Close waits for the lines that were accepted.
func (l *Logs) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.loops.Wait()
}

// Append keeps a container's lines and returns the number it expects next, when they
// are durable. Lines it has already are dropped, so a batch may be sent again after
// any failure; a batch that leaves lines out is refused with a GapError.
func (l *Logs) Append(ctx context.Context, b Batch) (next int64, err error) {
	if b.FirstSeq < 0 {
		return 0, fmt.Errorf("append log of task %q: first sequence number: must not be negative (%d)", b.Task, b.FirstSeq)
	}
	return l.enqueueRequest(ctx, &request{batch: b, sequenced: true})
}

// AppendUnsequenced keeps lines without sequence numbers: those that come through
// the API and the master's own. Sent twice they are there twice. FirstSeq is not
// looked at.
func (l *Logs) AppendUnsequenced(ctx context.Context, b Batch) error {
	_, err := l.enqueueRequest(ctx, &request{batch: b})
	return err
}

// Delete removes a task's lines. Its containers must have ended and be acknowledged:
// one that sends on would be refused for the gap.
func (l *Logs) Delete(ctx context.Context, taskID string) error {
	_, err := l.enqueueRequest(ctx, &request{batch: Batch{Task: taskID}, remove: true})
	return err
}

// request is one append on its way to the disk.
type request struct {
	batch     Batch
	sequenced bool
	remove    bool
	size      int64
	next      int64
	done      chan error
	refusal   error // of this request alone; the flusher's
	lent      *loan // instead of lines, see Join
}

// loan is the end of a task's log in the hands of another than its flusher.
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
	// From here on the lines are on their way; as the store does, we say what became
	// of them rather than that the caller has left.
	err := <-r.done
	return r.next, err
}

// awaitRoom waits until there is room for the request's lines, which the caller gives back.
func (l *Logs) awaitRoom(ctx context.Context, r *request) error {
	for _, line := range r.batch.Lines {
		r.size += int64(len(line.Text)) + 64 // the line's own fields
	}
	r.size = min(r.size, waitingBytes)
	return l.waiting.Acquire(ctx, r.size)
}

// assignFlusher gives the request to its task's flusher, and starts one when none runs.
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

// findTask is the end of a task's log. The caller holds mu.
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

// flushPending flushes until nothing waits. What arrives during one flush is the next, so
// small appends gather by themselves and a lone one does not wait.
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
			break // it is alone
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

// nextLines is closed by the next lines of the task.
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
