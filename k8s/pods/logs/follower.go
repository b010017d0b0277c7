// Package logs forwards the logs of pods from their nodes to the master's store: each line once, in
// order.
package logs

import (
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

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

const (
	// firstPause and lastPause are the minimum and maximum delays before a retry.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// closing is how long the stream of an ended container may stay open: a kubelet closes it
	// within a second, and the rest is then read separately.
	closing = 2 * time.Second
)

// Config configures a Follower.
type Config struct {
	Log     *slog.Logger
	Pods    typed.PodInterface
	Store   rm.Logs
	Metrics *Metrics
	// SaveMark stores the position in the log, for the next master.
	SaveMark func(context.Context, Mark) error

	Allocation rm.AllocationID
	Container  rm.ContainerID
	Node       rm.AgentID
	// Pod is the name of the container's pod.
	Pod string
	// Patience is how long a node may take to answer a request for the end of the log of an ended
	// container.
	Patience time.Duration
	// Mark is the position that an earlier master has stored, or zero.
	Mark Mark
	// LastLine returns the time of a container's last stored line, or zero if there is none. It may
	// be nil; it is called if a node has rotated a log while no master was running.
	LastLine func(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error)
}

// Follower forwards one container's log from its node to the store: in order, each line once, until
// the container has ended and its last line is stored. It survives interruptions of the API server
// and restarts of the master, because it stores its position in the log.
type Follower struct {
	cfg Config

	// mark is the position after the last stored line. marked is true if it was read from the
	// store, which may be up to markEvery behind the lines.
	mark   Mark
	marked bool
	saved  time.Time
	// next is the number of the next line in the store, as last returned by it. It is greater than
	// the mark's if a part of a long line is stored.
	next uint64

	// ended is closed when the container has ended, gone when its pod no longer exists, and done
	// when the log is complete.
	ended, gone, done   chan struct{}
	endedOnce, goneOnce sync.Once
}

// New returns a follower; run Follow or StoreInitTail in a separate goroutine.
func New(c Config) *Follower {
	begun := c.Mark.Seq > 0
	c.Mark.Returns = c.Mark.Returns || !begun
	return &Follower{
		cfg: c, mark: c.Mark, marked: begun,
		ended: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
	}
}

// ContainerEnded tells the follower that the container has ended and writes nothing more.
func (l *Follower) ContainerEnded() { l.endedOnce.Do(func() { close(l.ended) }) }

// PodGone tells the follower that the pod no longer exists, so that an open stream would never end.
func (l *Follower) PodGone() {
	l.ContainerEnded()
	l.goneOnce.Do(func() { close(l.gone) })
}

// Complete reports whether all lines are stored. It returns true for nil.
func (l *Follower) Complete() bool { return l == nil || isClosed(l.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Follow follows the log until it is complete or ctx ends.
func (l *Follower) Follow(ctx context.Context) {
	l.cfg.Metrics.streams.Inc()
	defer l.cfg.Metrics.streams.Dec()
	pause := firstPause
	var silent time.Time // deadline for an unresponsive node
	last, read := false, false
	for ctx.Err() == nil {
		if isClosed(l.ended) && !last {
			last, pause, silent = true, firstPause, time.Now().Add(l.cfg.Patience)
		}
		before := l.mark.Seq
		err := l.readOnce(ctx, !last)
		if l.mark.Seq > before {
			pause, silent = firstPause, time.Now().Add(l.cfg.Patience)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && last, read && apierrors.IsNotFound(err):
			l.completeLog(ctx, "")
			return
		case apierrors.IsNotFound(err):
			l.completeLog(ctx, fmt.Sprintf("the end of this log is missing: pod %s is gone", l.cfg.Pod))
			return
		case last && time.Now().After(silent):
			l.completeLog(ctx, fmt.Sprintf("the end of this log is missing: %v", err))
			return
		}
		read = err == nil
		if !l.pauseFor(ctx, pause, last) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// pauseFor waits before the next pass. It returns early when the container ends or its pod is
// deleted, and returns false when ctx ends.
func (l *Follower) pauseFor(ctx context.Context, pause time.Duration, last bool) bool {
	ended := l.ended
	if last {
		ended = l.gone
		if isClosed(ended) {
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

// errSilent is returned if a node does not answer in time.
var errSilent = errors.New("its node did not answer in time")

// readOnce reads the lines after the mark, and with follow also later ones, until the stream ends
// or times out.
func (l *Follower) readOnce(ctx context.Context, follow bool) error {
	o := &corev1.PodLogOptions{Container: podspec.MainContainer, Timestamps: true, Follow: follow}
	if since := l.mark.sinceTime(); !since.IsZero() {
		o.SinceTime = &metav1.Time{Time: since}
	}
	// The stream ends with the pass, also if the store returns an error.
	asked, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	heard := make(chan struct{}, 1)
	watching.Go(func() {
		l.awaitStreamEnd(asked, follow, heard)
		cancel()
	})
	stream, err := l.cfg.Pods.GetLogs(l.cfg.Pod, o).Stream(asked)
	if err != nil && asked.Err() != nil && ctx.Err() == nil {
		err = errSilent
	}
	if err != nil {
		return fmt.Errorf("read log of pod %s: %w", l.cfg.Pod, err)
	}
	defer stream.Close() //nolint:errcheck // nothing is written to it
	return l.storeLines(ctx, activityReader{stream, heard}, !follow)
}

// awaitStreamEnd waits until a stream should be closed: its pod no longer exists, its container has
// ended, or the node does not answer a request for the rest of a log. Not all nodes close their
// streams.
func (l *Follower) awaitStreamEnd(ctx context.Context, follow bool, heard <-chan struct{}) {
	limit, gone := l.cfg.Patience, l.gone
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

// activityReader is a stream that signals reads and received data.
type activityReader struct {
	io.Reader
	heard chan<- struct{}
}

func (s activityReader) Read(p []byte) (int, error) {
	s.signalRead()
	defer s.signalRead()
	return s.Reader.Read(p)
}

func (s activityReader) signalRead() {
	select {
	case s.heard <- struct{}{}:
	default:
	}
}

// completeLog stores the last line, if any, and marks the log as complete.
func (l *Follower) completeLog(ctx context.Context, word string) {
	if word != "" {
		l.cfg.Metrics.gaps.Inc()
		l.cfg.Log.Warn("log is not whole", "allocation", l.cfg.Allocation, "pod", l.cfg.Pod, "why", word)
		// Part of a truncated line may be stored after the mark.
		b := l.newBatch()
		if next, err := l.cfg.Store.NextSeq(ctx, l.cfg.Allocation, l.cfg.Container); err == nil {
			b.skipTo(next)
		}
		b.addOwn(word, time.Now())
		if !l.storeBatch(ctx, b) {
			return
		}
	}
	close(l.done)
}
