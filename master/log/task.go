package log

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// chunkLines and chunkBytes limit a chunk: large enough to amortize the cost of a row, small
	// enough to read a single line at little cost.
	chunkLines = 2000
	chunkBytes = 256 << 10
	// tailLines and tailBytes limit the last chunk, which later appends extend in place. They bound
	// how often a line is rewritten while a task prints one line at a time.
	tailLines = 64
	tailBytes = 4 << 10
)

// task is the state of one task's log. Logs owns pending and flushing, the flusher owns the other
// fields.
type task struct {
	id       string
	pending  []*request
	flushing bool
	limit    int64 // for size, 0 for no limit
	users    users

	owner  quota.User // looked up in users
	unkept bool       // the owner's quota is exceeded, which the log reports
	loaded bool
	fresh  bool             // the log was empty when it was loaded
	end    int64            // ID of the next line
	size   int64            // stored size in bytes
	marks  map[string]int64 // known next sequence numbers by container
	tail   *open            // the last chunk, if it may be extended
}

// open is a chunk that is being filled.
type open struct {
	store.Chunk
	body []byte
	who  who
	any  bool // whether who has been written
}

// writeGroup writes the group in one transaction. It returns the error of all requests that did not
// fail individually.
func (t *task) writeGroup(ctx context.Context, s *store.Store, group []*request, now time.Time) error {
	n, err := t.draftGroup(ctx, s, group, now)
	if err != nil || n.isEmpty() {
		return err
	}
	if err := s.Write(ctx, n.writeChunks); err != nil {
		return err
	}
	t.adopt(n)
	return nil
}

// draftGroup prepares the write of a group. It sets the refusal of requests that fail individually.
func (t *task) draftGroup(ctx context.Context, s *store.Store, group []*request, now time.Time) (*draft, error) {
	if err := errors.Join(t.loadEnd(ctx, s), t.loadOwner(ctx)); err != nil {
		return nil, err
	}
	n := &draft{task: t, end: t.end, size: t.size, tail: t.tail, marks: map[string]int64{}, unkept: t.unkept}
	for _, r := range byContainer(group) {
		if r.remove {
			n.remove, r.next = true, t.end
			continue
		}
		r.refusal = n.addRequest(ctx, s, r, now)
	}
	n.closeChunk()
	if t.limit > 0 && t.size < t.limit && n.size >= t.limit {
		n.sayFull(group[len(group)-1].batch, now)
	}
	return n, nil
}

// adopt updates the state after a draft was written.
func (t *task) adopt(n *draft) {
	if n.remove {
		t.loaded = false
		return
	}
	t.end, t.tail, t.size, t.unkept = n.end, n.tail, n.size, n.unkept
	if t.tail != nil && len(t.tail.body) >= tailBytes {
		t.tail = nil // it cannot be extended, and its memory adds up over many tasks
	}
	maps.Copy(t.marks, n.marks)
}

// byContainer groups the requests by container and preserves their order within a container.
// Otherwise containers that print alternately would produce one chunk for each line.
func byContainer(group []*request) []*request {
	if len(group) == 1 {
		return group
	}
	var order []string
	of := map[string][]*request{}
	for _, r := range group {
		key := r.batch.Allocation + "\x00" + r.batch.Container
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], r)
	}
	sorted := make([]*request, 0, len(group))
	for _, key := range order {
		sorted = append(sorted, of[key]...)
	}
	return sorted
}

// loadEnd reads the state of the log.
func (t *task) loadEnd(ctx context.Context, s *store.Store) error {
	if t.loaded {
		return nil
	}
	last, found, err := store.LastChunk(ctx, s, t.id)
	if err != nil {
		return err
	}
	var size int64
	if (t.limit > 0 || t.users.quota != nil) && found {
		if size, err = store.LogBytes(ctx, s, t.id); err != nil {
			return err
		}
	}
	t.beginEmpty()
	t.fresh, t.size, t.unkept = !found, size, found && endsUnkept(last)
	if found {
		t.end = last.Pos + last.Lines
		if len(last.Data) > 0 && last.Data[0] == versionPlain {
			t.tail = &open{Chunk: last, body: last.Data[1:]}
		}
	}
	return nil
}

// beginEmpty sets the state of an empty log.
func (t *task) beginEmpty() {
	t.end, t.tail, t.size, t.marks, t.fresh, t.loaded = 0, nil, 0, map[string]int64{}, true, true
}

// draft is the content of one write.
type draft struct {
	task   *task
	end    int64
	size   int64
	tail   *open
	marks  map[string]int64
	chunks []store.Chunk
	filled bool // tail has lines that are not in chunks
	remove bool // delete the existing log
	unkept bool // output of the task is dropped because of the owner's quota
}

func (n *draft) isEmpty() bool { return len(n.chunks) == 0 && len(n.marks) == 0 && !n.remove }

// addRequest appends a request's new lines to the draft.
func (n *draft) addRequest(ctx context.Context, s *store.Store, r *request, now time.Time) error {
	b := r.batch
	lines := b.Lines
	seq := int64(-1)
	if r.sequenced {
		want, err := n.nextSequence(ctx, s, b.Container)
		if err != nil {
			return err
		}
		r.next = max(want, b.FirstSeq+int64(len(lines)))
		if b.FirstSeq > want {
			r.next = want
			return &GapError{Task: b.Task, Container: b.Container, Want: want, Got: b.FirstSeq}
		}
		if r.next == want {
			return nil
		}
		lines, seq = lines[want-b.FirstSeq:], want
		n.marks[b.Container] = r.next
	}
	if !r.ofMaster() && len(lines) > 0 {
		n.checkOwner(b, now)
		if n.unkept || n.task.isFull() {
			return nil // counts as stored, so that it is not sent again
		}
	}
	var pieces [1]Line
	for _, line := range lines {
		for _, piece := range cleanLine(pieces[:0], line, now) {
			n.addLine(b, who{b.Agent, piece.Source, piece.Stdtype, rankOf(b, piece)}, piece, seq)
		}
		if seq >= 0 {
			seq++
		}
	}
	return nil
}

// rankOf returns the rank of a line, or -1.
func rankOf(b Batch, l Line) int {
	switch {
	case l.Rank != nil:
		return *l.Rank
	case b.Rank != nil:
		return *b.Rank
	}
	return -1
}

// isFull reports whether the task's log has reached its limit.
func (t *task) isFull() bool { return t.limit > 0 && t.size >= t.limit }

// ofMaster reports whether the lines are from the master and not from a container.
func (r *request) ofMaster() bool { return r.sequenced && r.batch.Container == "" }

// sayFull adds a line that reports that further output is dropped. It is written with the lines that
// reach the limit, so that it appears only once.
func (n *draft) sayFull(b Batch, now time.Time) {
	text := fmt.Sprintf("the log of this task has reached the limit security.limits.log_bytes_per_task of %d bytes; "+
		"further output of the task is dropped", n.task.limit)
	n.sayDropped(b, text, now)
}

// sayDropped adds a line of the master.
func (n *draft) sayDropped(b Batch, text string, now time.Time) {
	n.addLine(Batch{Task: n.task.id, Allocation: b.Allocation}, who{source: "master", stdtype: "stdout", rank: -1},
		Line{At: now, Level: Warning, Text: text, Source: "master", Stdtype: "stdout"}, -1)
	n.closeChunk()
}

func (n *draft) nextSequence(ctx context.Context, s *store.Store, container string) (int64, error) {
	if next, found := n.marks[container]; found {
		return next, nil
	}
	if next, found := n.task.marks[container]; found {
		return next, nil
	}
	if n.task.fresh {
		return 0, nil // marks are written together with lines
	}
	next, err := store.LogMark(ctx, s, n.task.id, container)
	if err == nil {
		n.task.marks[container] = next
	}
	return next, err
}

// addLine appends a line to the open chunk, or opens a new one.
func (n *draft) addLine(b Batch, w who, l Line, seq int64) {
	if !n.fitsChunk(b, seq, len(l.Text)) {
		n.closeChunk()
		n.tail = &open{Chunk: store.Chunk{
			Task: b.Task, Pos: n.end, Allocation: b.Allocation, Container: b.Container, FirstSeq: seq,
			FromAt: l.At.UnixMicro(), ToAt: l.At.UnixMicro(),
		}}
	} else if !n.filled {
		// The tail of the task must not change until the write is durable.
		extended := *n.tail
		extended.body = append([]byte(nil), n.tail.body...)
		extended.any = false
		n.tail = &extended
	}
	t := n.tail
	if !t.any || t.who != w {
		t.body, t.who, t.any = appendWho(t.body, w), w, true
	}
	t.body = appendLine(t.body, l)
	t.Lines++
	t.LastSeq = seq
	t.FromAt, t.ToAt = min(t.FromAt, l.At.UnixMicro()), max(t.ToAt, l.At.UnixMicro())
	n.end++
	n.filled = true
}

// fitsChunk reports whether a line may be appended to the open chunk.
func (n *draft) fitsChunk(b Batch, seq int64, size int) bool {
	t := n.tail
	if t == nil || t.Allocation != b.Allocation || t.Container != b.Container || (t.LastSeq < 0) != (seq < 0) {
		return false
	}
	if !n.filled {
		return t.Lines < tailLines && len(t.body)+size < tailBytes
	}
	return t.Lines < chunkLines && len(t.body)+size < chunkBytes
}

// closeChunk encodes the open chunk and adds it to the write.
func (n *draft) closeChunk() {
	if !n.filled {
		return
	}
	was := len(n.tail.Data)
	n.tail.Data = sealChunk(n.tail.body)
	n.size += int64(len(n.tail.Data) - was)
	n.chunks = append(n.chunks, n.tail.Chunk)
	n.filled = false
}

func (n *draft) writeChunks(tx *store.Tx) error {
	n.count(tx)
	for _, c := range n.chunks {
		if err := store.PutChunk(tx, c); err != nil {
			return err
		}
	}
	for container, next := range n.marks {
		if err := store.SetLogMark(tx, n.task.id, container, next); err != nil {
			return err
		}
	}
	if n.remove {
		if err := store.DeleteLogs(tx, n.task.id); err != nil {
			return fmt.Errorf("remove log: %w", err)
		}
	}
	return nil
}
