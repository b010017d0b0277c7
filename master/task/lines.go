package task

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/store"
)

// masterSource is the source of the master's lines in a log.
const masterSource = "master"

// newLines returns the master's lines about a task after the first said ones, and the number of the end.
func newLines(s snapshot, said int64) (batches []log.Batch, end int64) {
	end = said
	for _, a := range s.allocations {
		last := a.FirstLine + int64(len(a.Lines))
		if last <= end {
			continue
		}
		from := max(end, a.FirstLine)
		b := log.Batch{Task: string(a.Task), Allocation: string(a.ID), FirstSeq: from, Lines: make([]log.Line, 0, last-from)}
		for _, l := range a.Lines[from-a.FirstLine:] {
			b.Lines = append(b.Lines, log.Line{
				At: l.At, Level: log.Level(l.Level), Text: l.Text, Source: masterSource, Stdtype: "stdout",
			})
		}
		batches, end = append(batches, b), last
	}
	return batches, end
}

// joinedLines are the master's lines that are written together with the change that they describe; nil
// for none.
type joinedLines struct {
	joined *log.Joined
	entry  *entry
	end    int64
}

// joinLines returns the lines of a snapshot that are not in the log yet. The caller holds e.change, and
// calls settle after the transaction.
func (rec *records) joinLines(ctx context.Context, e *entry, s snapshot) (*joinedLines, error) {
	batches, end := newLines(s, e.said)
	if len(batches) == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	joined, err := rec.cfg.Logs.Join(ctx, batches)
	if err != nil {
		return nil, fmt.Errorf("log of task %s: %w", s.task.ID, err)
	}
	return &joinedLines{joined, e, end}, nil
}

func (j *joinedLines) write(tx *store.Tx) error {
	if j == nil {
		return nil
	}
	return j.joined.Write(tx)
}

// settle records the outcome of the transaction.
func (j *joinedLines) settle(err error) {
	if j == nil {
		return
	}
	j.joined.Settle(err)
	if err == nil {
		j.entry.said = j.end
	}
}

// flushLines copies the lines that an interrupted change may have left behind.
func (rec *records) flushLines(ctx context.Context, e *entry) error {
	e.change.Lock()
	defer e.change.Unlock()
	return rec.copyLines(ctx, e)
}

// showLines copies lines before the log of a task that has not ended is read. It waits for a change in
// progress, which writes its lines itself. Errors are only logged, so that the log can still be read.
func (rec *records) showLines(ctx context.Context, e *entry) {
	if e.latestSnapshot().hasEnded() {
		return
	}
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return
	}
	if err := rec.copyLines(ctx, e); err != nil {
		rec.cfg.Log.Warn("cannot write pending lines to a task's log", "task_id", e.latestSnapshot().task.ID, "err", err)
	}
}

// copyLines copies into the log the master's lines that were not written with their change: the first
// one, and those of earlier versions. Lines are numbered, so that existing ones are skipped. For a task
// that has ended, no further lines follow.
func (rec *records) copyLines(ctx context.Context, e *entry) error {
	s := e.latestSnapshot()
	batches, end := newLines(s, e.said)
	for _, b := range batches {
		if _, err := rec.cfg.Logs.Append(ctx, b); err != nil {
			return fmt.Errorf("log of task %s: %w", s.task.ID, err)
		}
	}
	e.said = end
	if s.hasEnded() {
		select {
		case <-e.ended:
		default:
			close(e.ended)
			rec.reg.leaving.add(e)
		}
	}
	return nil
}
