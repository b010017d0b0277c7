package rm

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// Streams is implemented by resource managers that reach into running containers. The context of each
// method bounds the time until the stream is open; the stream ends when either end closes it, or with
// its container. Each method returns ErrNotRunning for a container that is unknown or does not run,
// ErrTooManyStreams beyond the bounds of a container or a machine, an *UnreachableError if the platform
// or the machine cannot open streams, and a *RefusedError if the container's side does not.
type Streams interface {
	// Dial connects to a TCP port of a container as it is seen from inside, at loopback. The
	// connection has CloseWrite.
	Dial(ctx context.Context, c ContainerID, port int) (net.Conn, error)
	// Exec starts a program inside a container.
	Exec(ctx context.Context, c ContainerID, p stream.Program) (stream.Process, error)
	// ReadFiles returns a file or a directory of a container as a tar archive. The names in it begin
	// with the last element of path.
	ReadFiles(ctx context.Context, c ContainerID, path string) (io.ReadCloser, error)
	// WriteFiles unpacks a tar archive into a directory of a container, as the container's user. It
	// returns when everything is written.
	WriteFiles(ctx context.Context, c ContainerID, dir string, archive io.Reader) error
}

// Errors of Streams.
var (
	ErrNotRunning     = errors.New("the container is not running")
	ErrTooManyStreams = errors.New("too many streams are open")
)

// UnreachableError is the reason why no stream into a container can be opened.
type UnreachableError struct{ Reason string }

func (e *UnreachableError) Error() string { return e.Reason }

// RefusedError is the reason why a running container does not open a stream: nothing listens at the port,
// or a program or a file does not exist.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }
