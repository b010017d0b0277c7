package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

const (
	// longestLine is the length in bytes at which a line is split, as in Determined's agent. It
	// limits the memory for a line.
	longestLine = 64 << 10
	// readBytes is the size of the read buffer. There are thousands of streams, each with a buffer.
	readBytes = 16 << 10
	// batchLines and batchBytes limit a batch to store.
	batchLines = 2000
	batchBytes = 1 << 20
	// markEvery is the interval at which the position in a log is stored. It only matters if the
	// node rotates the log while no master is running.
	markEvery = time.Second
)

// batch contains lines to store, the number of the first, and the mark after the complete ones.
type batch struct {
	lines []*agentv1.Line
	bytes int
	first uint64
	mark  Mark
}

// newBatch returns a batch that begins at the mark.
func (l *Follower) newBatch() *batch { return &batch{first: l.mark.Seq, mark: l.mark} }

// skipTo skips numbers that are used. The batch must be empty.
func (b *batch) skipTo(next uint64) {
	if b.mark.Seq < next {
		b.first, b.mark.Seq = next, next
	}
}

// addOwn adds a line written by the master.
func (b *batch) addOwn(text string, at time.Time) {
	b.lines = append(b.lines, &agentv1.Line{AtUs: at.UnixMicro(), Stdtype: "stderr", Text: []byte(text)})
	b.mark.Seq++
}

// addPiece adds a piece of a line. It is partial if it does not end the line.
func (b *batch) addPiece(text []byte, at time.Time, partial bool) {
	if at.IsZero() {
		at = time.Now()
	}
	b.lines = append(b.lines, &agentv1.Line{AtUs: at.UnixMicro(), Stdtype: "stdout", Text: bytes.Clone(text), Partial: partial})
	b.bytes += len(text)
}

func (b *batch) full() bool { return len(b.lines) >= batchLines || b.bytes >= batchBytes }

// partialLine is the line that is being read.
type partialLine struct {
	begun, stored bool
	at            time.Time
	// rest is the text that is not in a batch yet; pieces counts the pieces that are.
	rest   []byte
	pieces int
}

// storeLines stores the lines of a stream. If final is set, the last line may lack a newline.
//
// A line longer than longestLine is stored piece by piece, before its end is known. The mark only
// moves after complete lines: if a line is read again, its pieces have the same numbers, and the
// store ignores them.
func (l *Follower) storeLines(ctx context.Context, stream io.Reader, final bool) error {
	in := bufio.NewReaderSize(stream, readBytes)
	place := resumePoint{mark: l.mark}
	if err := l.findStoreEnd(ctx, &place); err != nil {
		return err
	}
	b, now := l.newBatch(), partialLine{}
	for {
		raw, err := in.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if len(raw) > 0 {
			l.addText(b, &place, &now, bytes.TrimSuffix(raw, []byte("\n")))
		}
		if now.begun && (err == nil || errors.Is(err, io.EOF) && final) {
			now.finishLine(b, err == nil)
			now = partialLine{rest: now.rest[:0]}
		}
		if len(b.lines) > 0 && (err != nil && !more || b.full() || in.Buffered() == 0) {
			next := b.first + uint64(len(b.lines))
			if !l.storeBatch(ctx, b) {
				return ctx.Err()
			}
			b = &batch{first: next, mark: l.mark}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !more:
			return fmt.Errorf("read log of pod %s: %w", l.cfg.Pod, err)
		}
	}
}

// addText adds a part of the node's current line. It skips lines that are already stored.
func (l *Follower) addText(b *batch, place *resumePoint, now *partialLine, text []byte) {
	if !now.begun {
		now.begun = true
		now.at, text = splitLine(text)
		var missing bool
		if now.stored, missing = place.findLine(now.at); !now.stored && place.rotated {
			b.skipTo(place.next)
		}
		if missing {
			l.reportGap(b, now.at)
		}
	}
	if now.stored {
		return
	}
	now.rest = append(now.rest, text...)
	now.addPieces(b)
}

// addPieces adds the complete pieces of the line to the batch: text that ends in a carriage return,
// as each update of a progress bar does, and text that is too long.
func (now *partialLine) addPieces(b *batch) {
	left := now.rest
	for {
		window := left[:min(len(left), longestLine+1)]
		var end, size int
		if i := bytes.IndexByte(window, '\r'); i >= 0 && b.mark.Returns {
			end, size = i, i+1
		} else if len(window) <= longestLine {
			break
		} else {
			end = excerpt.Cut(window, longestLine)
			size = end
		}
		if end > 0 {
			b.addPiece(left[:end], now.at, end == size)
			now.pieces++
		}
		left = left[size:]
	}
	now.rest = append(now.rest[:0], left...)
}

// finishLine adds the last piece of a line to the batch, and moves the mark. After a carriage
// return there is no last piece. The log's last line may have no newline.
func (now *partialLine) finishLine(b *batch, newline bool) {
	if now.stored {
		return
	}
	if len(now.rest) > 0 || now.pieces == 0 {
		b.addPiece(now.rest, now.at, !newline)
		now.pieces++
	}
	b.mark = b.mark.advance(now.at, now.pieces)
}

// reportGap records in the log that lines are missing.
func (l *Follower) reportGap(b *batch, at time.Time) {
	l.cfg.Metrics.gaps.Inc()
	l.cfg.Log.Warn("node rotated a log before it was read", "allocation", l.cfg.Allocation, "pod", l.cfg.Pod, "node", l.cfg.Node,
		"from", b.mark.Last, "to", at)
	b.addOwn(fmt.Sprintf(
		"lines between %s and %s may be missing here: node %s rotated the log before they were read",
		b.mark.Last.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano), l.cfg.Node,
	), at)
}

// findStoreEnd determines how far the store is ahead of the mark: a mark of an earlier master, or
// one before a long line. It is only needed for a log that was rotated since, because the numbers
// cannot be derived from the mark then.
func (l *Follower) findStoreEnd(ctx context.Context, place *resumePoint) error {
	if !l.marked && l.next <= l.mark.Seq {
		return nil
	}
	next, err := l.cfg.Store.NextSeq(ctx, l.cfg.Allocation, l.cfg.Container)
	if err != nil {
		return fmt.Errorf("find the end of the log of container %s: %w", l.cfg.Container, err)
	}
	place.next = next
	if l.cfg.LastLine != nil && next > l.mark.Seq {
		if place.last, err = l.cfg.LastLine(ctx, l.cfg.Allocation, l.cfg.Container); err != nil {
			return fmt.Errorf("find the end of the log of container %s: %w", l.cfg.Container, err)
		}
	}
	return nil
}

// storeBatch stores a batch and retries until it succeeds. It returns false when ctx ends.
func (l *Follower) storeBatch(ctx context.Context, b *batch) bool {
	pause := firstPause
	for {
		err := l.appendBatch(ctx, b)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return false
		}
		l.cfg.Log.Warn("retrying after an error", "operation", "store log lines", "allocation", l.cfg.Allocation, "err", err)
		if !l.pauseFor(ctx, pause, true) {
			return false
		}
		pause = min(2*pause, lastPause)
	}
	l.cfg.Metrics.lines.Add(float64(len(b.lines)))
	l.mark, l.marked = b.mark, false
	return l.saveMark(ctx)
}

func (l *Follower) appendBatch(ctx context.Context, b *batch) error {
	next, err := l.cfg.Store.AppendLogs(ctx, l.cfg.Node, &agentv1.Logs{
		ContainerId: string(l.cfg.Container), AllocationId: string(l.cfg.Allocation), FirstSeq: b.first, Lines: b.lines,
	})
	if err != nil {
		return err
	}
	if next < b.first {
		return fmt.Errorf("the log of container %s ends at line %d, before line %d", l.cfg.Container, next, b.first)
	}
	l.next = max(next, b.first+uint64(len(b.lines)))
	return nil
}

// saveMark stores the position at most once per markEvery.
func (l *Follower) saveMark(ctx context.Context) bool {
	now := time.Now()
	if now.Sub(l.saved) < markEvery {
		return true
	}
	l.saved = now
	if err := l.cfg.SaveMark(ctx, l.mark); err != nil && ctx.Err() == nil {
		// Not fatal: only needed if a log is rotated while no master is running.
		l.cfg.Log.Warn("store place in a log", "allocation", l.cfg.Allocation, "err", err)
	}
	return ctx.Err() == nil
}
