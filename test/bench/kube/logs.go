package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/det-deploy/det-deploy/master/rm"
)

// silentLogs answers log requests with an empty log that ends with the pod's task: KWOK's log of a
// fake pod never ends, even after the pod has.
type silentLogs struct {
	next http.RoundTripper

	mu sync.Mutex // guards ended
	// ended has a channel for each task, which is closed when the task is killed.
	ended map[string]chan struct{}
}

// RoundTrip passes on every request except those for logs.
func (l *silentLogs) RoundTrip(q *http.Request) (*http.Response, error) {
	path, isLog := strings.CutSuffix(q.URL.Path, "/log")
	if !isLog {
		return l.next.RoundTrip(q)
	}
	body := io.ReadCloser(http.NoBody)
	if q.URL.Query().Get("follow") == "true" {
		body = &silence{ctx: q.Context(), ended: l.endOf(taskIn(path))}
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: make(http.Header), Body: body, Request: q}, nil
}

// taskIn returns the task of a pod's path. The name of the pod begins with that of its Job:
// det-UUID-1-1-0-abcde.
func taskIn(path string) string {
	name := strings.TrimPrefix(path[strings.LastIndex(path, "/")+1:], "det-")
	return name[:min(len(name), 36)]
}

func (l *silentLogs) endOf(task string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = make(map[string]chan struct{})
	}
	if l.ended[task] == nil {
		l.ended[task] = make(chan struct{})
	}
	return l.ended[task]
}

// silence is an empty body that ends with its task.
type silence struct {
	ctx   context.Context //nolint:containedctx // a body is read in its request
	ended <-chan struct{}
}

// Read blocks until the task ends.
func (s *silence) Read([]byte) (int, error) {
	select {
	case <-s.ended:
		return 0, io.EOF
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// Close does nothing.
func (*silence) Close() error { return nil }

// kill ends a gang and the logs of its pods.
func (b *bench) kill(ctx context.Context, id rm.AllocationID, why string) error {
	ended := b.client.logs.endOf(string(id[:36]))
	select {
	case <-ended: // it was killed before
	default:
		close(ended)
	}
	return b.rm.Kill(ctx, id, why)
}
