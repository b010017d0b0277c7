package streams

import (
	"context"
	"io"
	"strings"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream"
)

// transfer is a transfer of files in the form of a program: an archive is its output or its input, and the
// transfer's error is its own.
type transfer struct {
	io.WriteCloser // the archive that arrives

	stdout io.Reader
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// readFiles sends the files of a container.
func readFiles(ctx context.Context, e container.Entrance, id, path string) (stream.Process, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := e.ReadFiles(ctx, id, path)
	if err != nil {
		cancel()
		return nil, err
	}
	archive, out := io.Pipe()
	t := &transfer{WriteCloser: ignored{}, stdout: archive, cancel: cancel, ended: make(chan struct{})}
	context.AfterFunc(ctx, func() { _ = archive.CloseWithError(context.Cause(ctx)) }) // nobody reads
	go func() {
		defer close(t.ended)
		defer cancel()
		_, t.err = io.Copy(out, r)
		_, _ = r.Close(), out.Close()
	}()
	return t, nil
}

// writeFiles unpacks the archive that arrives.
func writeFiles(ctx context.Context, e container.Entrance, id, dir string) stream.Process {
	ctx, cancel := context.WithCancel(ctx)
	archive, in := io.Pipe()
	waiting, unpacked := io.Pipe() // the output ends when everything is written
	t := &transfer{WriteCloser: in, stdout: waiting, cancel: cancel, ended: make(chan struct{})}
	context.AfterFunc(ctx, func() { _ = archive.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer close(t.ended)
		defer cancel()
		t.err = e.WriteFiles(ctx, id, dir, archive)
		_ = unpacked.Close()
	}()
	return t
}

// ignored takes no input.
type ignored struct{}

func (ignored) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (ignored) Close() error              { return nil }

func (t *transfer) CloseWrite() error        { return t.WriteCloser.Close() }
func (t *transfer) Stdout() io.Reader        { return t.stdout }
func (t *transfer) Stderr() io.Reader        { return strings.NewReader("") }
func (t *transfer) Resize(stream.Size) error { return nil }
func (t *transfer) Signal(string) error      { return nil }
func (t *transfer) Wait() (int, error)       { <-t.ended; return 0, t.err }
func (t *transfer) Close() error             { t.cancel(); return nil }
