package log

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
)

// Begin says that a task has no log, so that none is looked for. It is called before anything is appended.
func (l *Logs) Begin(taskID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.findTask(taskID); !t.flushing && !t.loaded {
		t.beginEmpty()
	}
}

// Joined is lines on their way into a transaction of the caller's, who calls Write in it and Settle behind
// it. Until then nothing else is appended to the log of their task.
type Joined struct {
	logs  *Logs
	task  *task
	draft *draft
	size  int64
	lent  *loan // by the flusher, which waits for Settle; nil where none runs
}

// Join is Append of several batches of one task together with something else that is written. A batch
// that leaves lines out is refused with a GapError, and none is written then.
func (l *Logs) Join(ctx context.Context, batches []Batch) (*Joined, error) {
	j := &Joined{logs: l}
	group := make([]*request, len(batches))
	for i, b := range batches {
		group[i] = &request{batch: b, sequenced: true}
		if err := l.awaitRoom(ctx, group[i]); err != nil {
			l.waiting.Release(j.size)
			return nil, err
		}
		j.size += group[i].size
	}
	if err := j.borrowEnd(batches[0].Task); err != nil {
		l.waiting.Release(j.size)
		return nil, err
	}
	// Its reads must not end with the caller: the end would have to be read again.
	draft, err := j.task.draftGroup(context.WithoutCancel(ctx), l.store, group, time.Now())
	for _, r := range group {
		if err == nil {
			err = r.refusal
		}
	}
	if err != nil {
		j.Settle(err)
		return nil, err
	}
	j.draft = draft
	return j, nil
}

// borrowEnd waits until nothing else is appended to the task's log.
func (j *Joined) borrowEnd(taskID string) error {
	l := j.logs
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	j.task = l.findTask(taskID)
	if !j.task.flushing {
		j.task.flushing = true
		l.loops.Add(1) // Close waits for Settle
		l.mu.Unlock()
		return nil
	}
	j.lent = &loan{began: make(chan struct{}), ended: make(chan struct{})}
	j.task.pending = append(j.task.pending, &request{lent: j.lent})
	l.mu.Unlock()
	<-j.lent.began
	return nil
}

// Write puts the lines into the transaction.
func (j *Joined) Write(tx *store.Tx) error { return j.draft.writeChunks(tx) }

// Settle says what became of the transaction. It must be called, once.
func (j *Joined) Settle(err error) {
	l, t := j.logs, j.task
	if err != nil {
		t.loaded = false
	} else {
		t.adopt(j.draft)
		l.wakeFollowers(t.id)
	}
	l.waiting.Release(j.size)
	if j.lent != nil {
		close(j.lent.ended)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(t.pending) > 0 { // appended meanwhile
		l.loops.Go(func() { l.flushPending(t) })
	} else {
		t.flushing = false
	}
	l.loops.Done()
}
