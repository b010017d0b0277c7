package inside

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// relay is a program that connects its standard streams with a port. It writes an empty line when it is
// connected.
//
//go:embed relay.py
var relay string

// ErrNoPython is returned for a container without the program of relay.
var ErrNoPython = errors.New("the container has no python3")

// DialThrough connects to a port through a program inside the container, for agents that may not enter
// its network.
func DialThrough(ctx context.Context, exec Exec, port int) (net.Conn, error) {
	if err := checkPort(port); err != nil {
		return nil, err
	}
	p, err := exec(ctx, "python3", "-c", relay, strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	w := watch(p, "", "")
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	var begin [1]byte
	if _, err := io.ReadFull(p.Stdout(), begin[:]); err != nil || begin[0] != '\n' {
		go func() { _, _ = io.Copy(io.Discard, p.Stdout()) }() // an engine writes its errors there
		return nil, errors.Join(refusal(ctx, port, w), p.Close())
	}
	conn, err := join(p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return conn, nil
}

// refusal returns why the program did not connect.
func refusal(ctx context.Context, port int, w program) error {
	reason := ctx.Err()
	if reason == nil {
		code, err := w.process.Wait()
		said := <-w.said
		switch last := said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:]; {
		case err != nil:
			reason = err
		case code == codeNoProgram || code == codeNotRun:
			reason = ErrNoPython
		case strings.TrimSpace(last) == "Connection refused":
			reason = unix.ECONNREFUSED
		default:
			reason = fmt.Errorf("python3 ended with code %d: %s", code, strings.TrimSpace(last))
		}
	}
	return fmt.Errorf("connect to port %d of the container: %w", port, reason)
}

// relayed is a connection whose other end is a program. Closing it ends the program.
type relayed struct {
	*net.UnixConn

	program stream.Process
}

// Close ends the program.
func (r relayed) Close() error { return errors.Join(r.UnixConn.Close(), r.program.Close()) }

// join connects a program. The connection ends with it.
func join(p stream.Process) (net.Conn, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	ours, err1 := fileConn(ends[0])
	theirs, err2 := fileConn(ends[1])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(p, theirs) // an error means that the program has ended
		_ = p.CloseWrite()
	}()
	go func() {
		_, _ = io.Copy(theirs, p.Stdout())
		_, _ = theirs.Close(), p.Close()
	}()
	return relayed{ours, p}, nil
}

func fileConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "stream")
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}
