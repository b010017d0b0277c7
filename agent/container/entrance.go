package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// Entrance is implemented by runtimes that reach into running containers. The context of each method
// bounds the time until the stream is open, and for ReadFiles and WriteFiles the whole transfer. Each
// returns ErrNotRunning for a container that does not run, and ErrNoAnswer like the methods of Runtime;
// the other errors are sentences for the person who asked. A stream ends with its container at the latest.
type Entrance interface {
	// Dial connects to a TCP port of a container as it is seen from inside, at loopback. The
	// connection has CloseWrite.
	Dial(ctx context.Context, id string, port int) (net.Conn, error)
	// Exec starts a program inside a container, as the container's user, with its variables, in its
	// directory and with no more rights than its first program.
	Exec(ctx context.Context, id string, p stream.Program) (stream.Process, error)
	// ReadFiles returns a file or a directory of a container as a tar archive. The names in it begin
	// with the last element of path.
	ReadFiles(ctx context.Context, id, path string) (io.ReadCloser, error)
	// WriteFiles unpacks a tar archive into a directory of a container, as the container's user. It
	// returns when everything is written.
	WriteFiles(ctx context.Context, id, dir string, archive io.Reader) error
}

// ErrNotRunning is returned by the methods of an Entrance for a container that does not run.
var ErrNotRunning = errors.New("the container is not running")

// PathError is an error of ReadFiles or WriteFiles about a path inside the container, such as one that
// does not exist or that the container's user may not read.
type PathError struct {
	Path string
	Err  error
}

func (e *PathError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *PathError) Unwrap() error { return e.Err }
