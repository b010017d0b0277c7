package log

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
)

// Begin marks a task as having no log, so that its state need not be read. It must be called before
// the first append of the task.
func (l *Logs) Begin(taskID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.findTask(taskID); !t.flushing && !t.loaded {
		t.beginEmpty()
	}
}

// Joined holds lines that are written in a transaction of the caller, who calls Write in the
// transaction and Settle after it. Until then no other lines are appended to the task's log.
type Joined struct {
	logs  *Logs
	task  *task
	draft *draft
	size  int64
	lent  *loan // by the flusher, which waits for Settle; nil if none was running
}

// Join prepares several batches of one task for a transaction of the caller. It returns a GapError,
// and prepares nothing, if lines are missing.
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
	// The reads must not be canceled with the caller, because the state would have to be read again.
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

// borrowEnd waits until no other lines are being appended to the task's log.
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

// Write writes the lines in the transaction.
func (j *Joined) Write(tx *store.Tx) error { return j.draft.writeChunks(tx) }

// Settle releases the task's log after the transaction; err is the result of the transaction. It
// must be called exactly once.
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
