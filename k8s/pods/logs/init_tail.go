package logs

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tailLines and tailBytes limit the output of a failed init container in the log.
const (
	tailLines = 20
	tailBytes = 64 << 10
)

// StoreInitTail stores the last lines of the failed init container as the task's log, because the
// task's program has not run.
func (l *Follower) StoreInitTail(ctx context.Context, name string) {
	text, err := l.fetchTail(ctx, name)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		l.completeLog(ctx, fmt.Sprintf("why the task could not be prepared is not known: %v", err))
		return
	}
	b := l.newBatch()
	for line := range bytes.Lines(text) {
		b.addOwn(string(bytes.TrimRight(line, "\r\n")), time.Now())
	}
	if len(b.lines) > 0 && !l.storeBatch(ctx, b) {
		return
	}
	l.completeLog(ctx, "")
}

// fetchTail retries until the node answers or the patience is exhausted.
func (l *Follower) fetchTail(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Patience)
	defer cancel()
	o := &corev1.PodLogOptions{Container: name, TailLines: new(int64(tailLines)), LimitBytes: new(int64(tailBytes))}
	pause := firstPause
	for {
		text, err := l.cfg.Pods.GetLogs(l.cfg.Pod, o).DoRaw(ctx)
		if err == nil || apierrors.IsNotFound(err) || !l.pauseFor(ctx, pause, true) {
			return text, err
		}
		pause = min(2*pause, lastPause)
	}
}
