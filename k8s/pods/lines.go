package pods

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

const (
	// longestLine is where a line is cut in two; Determined's agent does the same.
	longestLine = 64 << 10
	// batchLines and batchBytes bound what is stored at a time.
	batchLines = 2000
	batchBytes = 1 << 20
	// markEvery is how often the place in a log is stored while lines come. It
	// matters only when a node rotates the log while no master is there.
	markEvery = time.Second
	// firstPause and lastPause bound the wait before a node is asked again.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// lines carries one container's log from its node to the store: in order, each
// line once, until the container has ended and its last line is stored. It outlives
// interruptions of the API server and restarts of the master, for it knows its
// place in the log.
type lines struct {
	log        *slog.Logger
	pods       typed.PodInterface
	store      rm.Logs
	records    records
	allocation rm.AllocationID
	container  rm.ContainerID
	node       rm.AgentID
	pod        string
	// patience is how long a node that does not answer is asked for the end of
	// the log of a container that has ended.
	patience time.Duration
	meters   *meters

	// mark is the place behind the last line that was stored; marked says that it was
	// found in the store, where it may lie behind the lines by markEvery.
	mark   mark
	marked bool
	saved  time.Time
	// last is Config.LastLine.
	last func(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error)

	// ended is closed when the container has ended, done when its log is whole.
	ended, done chan struct{}
	endedOnce   sync.Once
}

// end says that the container prints no more.
func (l *lines) end() { l.endedOnce.Do(func() { close(l.ended) }) }

func (l *lines) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// whole reports whether nothing is left to be stored. No lines are.
func (l *lines) whole() bool {
	if l == nil {
		return true
	}
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// run follows the log. It returns when the log is whole or ctx ends.
func (l *lines) run(ctx context.Context) {
	l.meters.streams.Inc()
	defer l.meters.streams.Dec()
	pause := firstPause
	var giveUp time.Time
	read := false // to the end, as the node saw it
	for ctx.Err() == nil {
		last, before := l.hasEnded(), l.mark.Seq
		err := l.pass(ctx, !last)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && last, read && apierrors.IsNotFound(err):
			l.finish(ctx, "")
			return
		case apierrors.IsNotFound(err):
			l.finish(ctx, fmt.Sprintf("the end of this log is missing: pod %s is gone", l.pod))
			return
		case err != nil && last && giveUp.IsZero():
			giveUp = time.Now().Add(l.patience)
		case err != nil && last && time.Now().After(giveUp):
			l.finish(ctx, fmt.Sprintf("the end of this log is missing: %v", err))
			return
		}
		read = err == nil
		if l.mark.Seq > before {
			pause = firstPause
		}
		if !l.rest(ctx, pause, last) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// rest waits before the next pass, for less when the container ends.
func (l *lines) rest(ctx context.Context, pause time.Duration, last bool) bool {
	ended := l.ended
	if last {
		ended = nil
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-ended:
	case <-t.C:
	}
	return true
}

// finish stores a last word, if there is one, and says that the log is whole.
func (l *lines) finish(ctx context.Context, word string) {
	if word != "" {
		l.meters.gaps.Inc()
		l.log.Warn("log is not whole", "allocation", l.allocation, "pod", l.pod, "why", word)
		if !l.keep(ctx, &batch{lines: []*agentv1.Line{said(word, time.Now())}, mark: l.mark.said()}) {
			return
		}
	}
	close(l.done)
}

// said is the mark behind a line of our own.
func (m mark) said() mark {
	m.Seq++
	return m
}

func said(text string, at time.Time) *agentv1.Line {
	return &agentv1.Line{AtUs: at.UnixMicro(), Stdtype: "stderr", Text: []byte(text)}
}

// pass reads what there is behind the mark, and with follow what comes, until the
// node has no more to say.
func (l *lines) pass(ctx context.Context, follow bool) error {
	o := &corev1.PodLogOptions{Container: mainContainer, Timestamps: true, Follow: follow}
	if since := l.mark.since(); !since.IsZero() {
		o.SinceTime = &metav1.Time{Time: since}
	}
	// The stream ends with the pass, also when the store refuses its lines.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := l.pods.GetLogs(l.pod, o).Stream(ctx)
	if err != nil {
		return fmt.Errorf("read log of pod %s: %w", l.pod, err)
	}
	defer stream.Close() //nolint:errcheck // nothing is written to it
	return l.copy(ctx, stream, !follow)
}

// batch is lines on their way to the store, and the mark behind them.
type batch struct {
	lines []*agentv1.Line
	bytes int
	mark  mark
}

// copy stores the lines of a stream. Of a final one the last line may lack its end.
func (l *lines) copy(ctx context.Context, stream io.Reader, final bool) error {
	in := bufio.NewReaderSize(stream, 64<<10)
	place := search{mark: l.mark}
	if err := l.catchUp(ctx, &place); err != nil {
		return err
	}
	b := &batch{mark: l.mark}
	for {
		raw, err := readLine(in)
		if err == nil || errors.Is(err, io.EOF) && final && len(raw) > 0 {
			l.add(b, &place, raw)
		}
		full := len(b.lines) >= batchLines || b.bytes >= batchBytes
		if len(b.lines) > 0 && (err != nil || full || in.Buffered() == 0) {
			if !l.keep(ctx, b) {
				return ctx.Err()
			}
			b = &batch{mark: l.mark}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read log of pod %s: %w", l.pod, err)
		}
	}
}

// catchUp looks how far the store is beyond a mark that an earlier master left. Only
// a log that was rotated since cannot be numbered by reading on from the mark.
func (l *lines) catchUp(ctx context.Context, place *search) error {
	if !l.marked {
		return nil
	}
	next, err := l.store.NextSeq(ctx, l.allocation, l.container)
	if err != nil {
		return fmt.Errorf("find the end of the log of container %s: %w", l.container, err)
	}
	place.next = next
	if l.last != nil && next > l.mark.Seq {
		if place.last, err = l.last(ctx, l.allocation, l.container); err != nil {
			return fmt.Errorf("find the end of the log of container %s: %w", l.container, err)
		}
	}
	return nil
}

// readLine reads up to a newline, however far that is.
func readLine(in *bufio.Reader) ([]byte, error) {
	raw, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return raw, err
	}
	whole := bytes.Clone(raw)
	for errors.Is(err, bufio.ErrBufferFull) {
		raw, err = in.ReadSlice('\n')
		whole = append(whole, raw...)
	}
	return whole, err
}

// add puts one line of the node into the batch, unless it is stored already.
func (l *lines) add(b *batch, place *search, raw []byte) {
	at, text := splitLine(raw)
	stored, missing := place.find(at)
	if stored {
		return
	}
	if place.rotated && b.mark.Seq < place.next {
		b.mark.Seq = place.next
	}
	if missing {
		l.meters.gaps.Inc()
		l.log.Warn("node rotated a log before it was read", "allocation", l.allocation, "pod", l.pod, "node", l.node,
			"from", b.mark.Last, "to", at)
		b.lines = append(b.lines, said(fmt.Sprintf(
			"lines between %s and %s may be missing here: node %s rotated the log before they were read",
			b.mark.Last.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano), l.node,
		), at))
		b.mark = b.mark.said()
	}
	pieces := 0
	for {
		piece := text[:min(len(text), longestLine)]
		text = text[len(piece):]
		b.lines = append(b.lines, &agentv1.Line{AtUs: micros(at), Stdtype: "stdout", Text: bytes.Clone(piece)})
		b.bytes += len(piece)
		pieces++
		if len(text) == 0 {
			break
		}
	}
	b.mark = b.mark.pass(at, pieces)
}

func micros(at time.Time) int64 {
	if at.IsZero() {
		at = time.Now()
	}
	return at.UnixMicro()
}

// keep stores a batch, however long that takes. It reports false when ctx has
// ended.
func (l *lines) keep(ctx context.Context, b *batch) bool {
	pause := firstPause
	for {
		err := l.append(ctx, b)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return false
		}
		l.log.Warn("try again", "what", "store log lines", "allocation", l.allocation, "err", err)
		if !l.rest(ctx, pause, true) {
			return false
		}
		pause = min(2*pause, lastPause)
	}
	l.meters.lines.Add(float64(len(b.lines)))
	l.mark, l.marked = b.mark, false
	return l.remember(ctx)
}

func (l *lines) append(ctx context.Context, b *batch) error {
	first := b.mark.Seq - uint64(len(b.lines))
	next, err := l.store.AppendLogs(ctx, l.node, &agentv1.Logs{
		ContainerId: string(l.container), AllocationId: string(l.allocation), FirstSeq: first, Lines: b.lines,
	})
	if err != nil {
		return err
	}
	if next < first {
		return fmt.Errorf("the log of container %s ends at line %d, before line %d", l.container, next, first)
	}
	return nil
}

// remember stores the place now and then.
func (l *lines) remember(ctx context.Context) bool {
	now := time.Now()
	if now.Sub(l.saved) < markEvery {
		return true
	}
	l.saved = now
	if err := l.records.put(ctx, logKey+string(l.container), l.mark); err != nil && ctx.Err() == nil {
		// It is for the case that a log is rotated while no master is there.
		l.log.Warn("store place in a log", "allocation", l.allocation, "err", err)
	}
	return ctx.Err() == nil
}

// tail stores the last lines of the container that prepares a task, as the first of
// the task's log: the program that would have written it has not run.
func (l *lines) tail(ctx context.Context) {
	last := int64(20)
	text, err := l.pods.GetLogs(l.pod, &corev1.PodLogOptions{Container: initContainer, TailLines: &last}).DoRaw(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.finish(ctx, fmt.Sprintf("why the task could not be prepared is not known: %v", err))
		}
		return
	}
	b := &batch{mark: l.mark}
	for line := range bytes.Lines(text) {
		b.lines = append(b.lines, said(string(bytes.TrimRight(line, "\r\n")), time.Now()))
		b.mark = b.mark.said()
	}
	if len(b.lines) > 0 && !l.keep(ctx, b) {
		return
	}
	l.finish(ctx, "")
}
