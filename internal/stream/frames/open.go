package frames

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// Open returns the program at the other end of a websocket, which is served there. The caller closes the
// program, which closes the websocket; when ctx is done it is closed too.
func Open(ctx context.Context, ws *websocket.Conn) Remote { return open(ctx, ws, usual()) }

// Remote is a program at the other end of a websocket.
type Remote interface {
	stream.Process
	// Done is closed when nothing of the stream is left.
	Done() <-chan struct{}
}

type remote struct {
	*wire
	ctx    context.Context //nolint:containedctx // the lifetime of the websocket
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	// credit is what may be sent of the standard input, unread what was sent and is not known to be read.
	credit *semaphore.Weighted
	unread atomic.Int64
	out    []byte

	stdout, stderr io.Reader
	outputs        map[kind]*io.PipeWriter

	// ended is closed when code and err are set, done when the websocket is closed.
	ended, done chan struct{}
	code        int
	err         error
}

func open(ctx context.Context, ws *websocket.Conn, t timing) *remote {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &remote{
		wire: newWire(ws, t), ctx: ctx, cancel: cancel, credit: semaphore.NewWeighted(window),
		outputs: map[kind]*io.PipeWriter{}, ended: make(chan struct{}), done: make(chan struct{}),
	}
	r.stdout, r.outputs[stdout] = io.Pipe()
	r.stderr, r.outputs[stderr] = io.Pipe()
	// A reader that does not read must not keep the websocket open.
	context.AfterFunc(ctx, func() { r.endOutputs(context.Cause(ctx)) })
	r.work.Go(func() { r.keepAlive(ctx) })
	r.work.Go(r.receive)
	return r
}

// receive handles the messages of the container's end until the program has ended.
func (r *remote) receive() {
	err := r.readFrames()
	r.err = err
	r.endOutputs(err)
	close(r.ended)
	_ = r.ws.CloseNow() // nothing that was sent since matters
	r.cancel(errEnded)
	close(r.done)
}

// errEnded is returned for input of a program that has ended.
var errEnded = fmt.Errorf("the program has ended: %w", io.ErrClosedPipe)

func (r *remote) endOutputs(err error) {
	for _, w := range r.outputs {
		_ = w.CloseWithError(err) // never an error
	}
}

// readFrames returns nil when the program has exited.
func (r *remote) readFrames() error {
	for {
		data, err := r.read(r.ctx)
		if err != nil {
			return err
		}
		k, payload, c, err := decode(data)
		if err != nil {
			return fmt.Errorf("%w: it sent %w", ErrLost, err)
		}
		ended, err := r.take(k, payload, c)
		if ended || err != nil {
			return err
		}
	}
}

// EndError is the reason of the other end why a program has no exit code.
type EndError struct{ Reason string }

func (e *EndError) Error() string { return e.Reason }

// take handles one message, and reports whether it was the last one.
func (r *remote) take(k kind, payload []byte, c control) (ended bool, err error) {
	switch {
	case k == stdout || k == stderr:
		if _, err := r.outputs[k].Write(payload); err != nil {
			return false, context.Cause(r.ctx)
		}
	case k != command:
		return false, fmt.Errorf("%w: it sent input of a program", ErrLost)
	case c.Error != "":
		return true, &EndError{Reason: c.Error}
	case c.Exit != nil:
		r.code = *c.Exit
		return true, nil
	case c.Taken != 0:
		if c.Taken < 0 || r.unread.Add(-int64(c.Taken)) < 0 {
			return false, fmt.Errorf("%w: it read more input than was sent", ErrLost)
		}
		r.credit.Release(int64(c.Taken))
	}
	return false, nil
}

// Write implements stream.Process. It waits while the program does not read.
func (r *remote) Write(p []byte) (n int, err error) {
	if r.out == nil {
		r.out = make([]byte, 1+chunk)
		r.out[0] = byte(stdin)
	}
	for n < len(p) {
		size := copy(r.out[1:], p[n:])
		if r.credit.Acquire(r.ctx, int64(size)) != nil {
			return n, context.Cause(r.ctx)
		}
		r.unread.Add(int64(size))
		if err := r.send(r.out[:1+size]); err != nil {
			return n, err
		}
		n += size
	}
	return n, nil
}

func (r *remote) send(data []byte) error {
	if err := r.write(r.ctx, data); err != nil {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		return lost(err)
	}
	return nil
}

func (r *remote) CloseWrite() error          { return r.send(control{CloseStdin: true}.encode()) }
func (r *remote) Resize(s stream.Size) error { return r.send(control{Resize: &s}.encode()) }
func (r *remote) Signal(name string) error   { return r.send(control{Signal: name}.encode()) }
func (r *remote) Stdout() io.Reader          { return r.stdout }
func (r *remote) Stderr() io.Reader          { return r.stderr }

func (r *remote) Wait() (int, error) {
	<-r.ended
	return r.code, r.err
}

func (r *remote) Done() <-chan struct{} { return r.done }

// Close implements stream.Process. The other end notices, and ends the program.
func (r *remote) Close() error {
	r.cancel(errClosed)
	r.work.Wait()
	return nil
}

var errClosed = errors.New("the stream was closed")
