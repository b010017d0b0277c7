package pods

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

const (
	// firstPause and lastPause bound the wait before a node is asked again.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// closing is how long the stream of a container that has ended may stay open: a
	// kubelet ends it within a second, and what is left is then read by itself.
	closing = 2 * time.Second
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
	// patience is how long a node may be silent when it is asked for the end of the
	// log of a container that has ended.
	patience time.Duration
	meters   *meters

	// mark is the place behind the last line that was stored; marked says that it was
	// found in the store, where it may lie behind the lines by markEvery.
	mark   mark
	marked bool
	saved  time.Time
	// next is the number of the line that the store takes next, as it last said. It
	// is beyond the mark's where a part of a long line is stored.
	next uint64
	// last is Config.LastLine.
	last func(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error)

	// ended is closed when the container has ended, gone when its pod is no more, and
	// done when the log is whole.
	ended, gone, done   chan struct{}
	endedOnce, goneOnce sync.Once
}

// end says that the container prints no more.
func (l *lines) end() { l.endedOnce.Do(func() { close(l.ended) }) }

// lose says that the pod is no more: whatever stream is still open has no end.
func (l *lines) lose() {
	l.end()
	l.goneOnce.Do(func() { close(l.gone) })
}

// whole reports whether nothing is left to be stored. No lines are.
func (l *lines) whole() bool { return l == nil || closed(l.done) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
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
	var silent time.Time // when a node has not said enough for too long
	last, read := false, false
	for ctx.Err() == nil {
		if closed(l.ended) && !last {
			last, pause, silent = true, firstPause, time.Now().Add(l.patience)
		}
		before := l.mark.Seq
		err := l.pass(ctx, !last)
		if l.mark.Seq > before {
			pause, silent = firstPause, time.Now().Add(l.patience)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && last, read && apierrors.IsNotFound(err):
			l.finish(ctx, "")
			return
		case apierrors.IsNotFound(err):
			l.finish(ctx, fmt.Sprintf("the end of this log is missing: pod %s is gone", l.pod))
			return
		case last && time.Now().After(silent):
			l.finish(ctx, fmt.Sprintf("the end of this log is missing: %v", err))
			return
		}
		read = err == nil
		if !l.rest(ctx, pause, last) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// rest waits before the next pass, for less when the container ends or its pod goes.
func (l *lines) rest(ctx context.Context, pause time.Duration, last bool) bool {
	ended := l.ended
	if last {
		ended = l.gone
		if closed(ended) {
			ended = nil
		}
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

// pass reads what there is behind the mark, and with follow what comes, until the
// node has no more to say, or should have said it.
func (l *lines) pass(ctx context.Context, follow bool) error {
	o := &corev1.PodLogOptions{Container: mainContainer, Timestamps: true, Follow: follow}
	if since := l.mark.since(); !since.IsZero() {
		o.SinceTime = &metav1.Time{Time: since}
	}
	// The stream ends with the pass, also when the store refuses its lines.
	asked, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	heard := make(chan struct{}, 1)
	watching.Go(func() {
		l.outlived(asked, follow, heard)
		cancel()
	})
	stream, err := l.pods.GetLogs(l.pod, o).Stream(asked)
	if err != nil {
		return fmt.Errorf("read log of pod %s: %w", l.pod, err)
	}
	defer stream.Close() //nolint:errcheck // nothing is written to it
	return l.copy(ctx, told{stream, heard}, !follow)
}

// outlived returns when a stream has no reason to be open any more: its pod is gone,
// its container has ended and it does not, or the rest of a log is asked for and the
// node says nothing. Not every node ends its streams.
func (l *lines) outlived(ctx context.Context, follow bool, heard <-chan struct{}) {
	limit, gone := l.patience, l.gone
	if follow {
		limit, heard, gone = closing, nil, nil
		select {
		case <-ctx.Done():
			return
		case <-l.ended:
		}
	}
	for {
		t := time.NewTimer(limit)
		select {
		case <-heard:
		case <-gone:
			limit, gone = closing, nil
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
			return
		}
		t.Stop()
	}
}

// told is a stream that says when it is read from, and when something came.
type told struct {
	io.Reader
	heard chan<- struct{}
}

func (s told) Read(p []byte) (int, error) {
	s.say()
	defer s.say()
	return s.Reader.Read(p)
}

func (s told) say() {
	select {
	case s.heard <- struct{}{}:
	default:
	}
}

// finish stores a last word, if there is one, and says that the log is whole.
func (l *lines) finish(ctx context.Context, word string) {
	if word != "" {
		l.meters.gaps.Inc()
		l.log.Warn("log is not whole", "allocation", l.allocation, "pod", l.pod, "why", word)
		// A part of a line that was cut off may be stored behind the mark.
		b := l.batch()
		if next, err := l.store.NextSeq(ctx, l.allocation, l.container); err == nil {
			b.jump(next)
		}
		b.say(word, time.Now())
		if !l.keep(ctx, b) {
			return
		}
	}
	close(l.done)
}
