package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// execution is a program that the engine runs in a container.
type execution struct {
	r         *Runtime
	id        string
	container engine.InspectResponse
	terminal  bool
	conn      client.HijackedResponse

	stdout, stderr *io.PipeReader
	// ended is closed when the program has exited, or the connection to the engine has ended.
	ended   chan struct{}
	code    int
	err     error
	closing sync.Once
	closed  chan struct{}
	// asking returns the context of a request to the engine.
	asking func() (context.Context, context.CancelFunc)
}

var _ stream.Process = (*execution)(nil)

// noDetach is a key sequence that nobody types. The engine would otherwise detach at its default,
// ctrl-p ctrl-q, and hold back each ctrl-p.
const noDetach = "ctrl-@,ctrl-@,ctrl-@,ctrl-@,ctrl-@,ctrl-@,ctrl-@,ctrl-@"

func (r *Runtime) startExec(ctx context.Context, c engine.InspectResponse, p stream.Program) (*execution, error) {
	var size client.ConsoleSize
	if p.Terminal != nil {
		size = consoleSize(*p.Terminal)
	}
	terminal := p.Terminal != nil
	made, err := r.api.ExecCreate(ctx, c.ID, client.ExecCreateOptions{
		Cmd: p.Argv, TTY: terminal, ConsoleSize: size, DetachKeys: noDetach,
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return nil, err
	}
	entered(r.opts.Entered).note(made.ID)
	attached, err := r.api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{TTY: terminal, ConsoleSize: size})
	if err != nil {
		entered(r.opts.Entered).forget(made.ID)
		return nil, err
	}
	e := &execution{
		r: r, id: made.ID, container: c, terminal: terminal, conn: attached.HijackedResponse,
		ended: make(chan struct{}), closed: make(chan struct{}),
	}
	outliving := context.WithoutCancel(ctx)
	e.asking = func() (context.Context, context.CancelFunc) { return context.WithTimeout(outliving, answerTimeout) }
	var out, errs *io.PipeWriter
	e.stdout, out = io.Pipe()
	e.stderr, errs = io.Pipe()
	if terminal {
		// Some versions of the engine ignore the size above. An error means that the program has ended.
		_ = e.resize(ctx, *p.Terminal)
	}
	go e.follow(outliving, out, errs)
	return e, nil
}

func consoleSize(s stream.Size) client.ConsoleSize {
	return client.ConsoleSize{Width: uint(s.Columns), Height: uint(s.Rows)}
}

// follow passes on the output until the engine ends it, and reads the exit code.
func (e *execution) follow(ctx context.Context, out, errs *io.PipeWriter) {
	defer close(e.ended)
	var err error
	if e.terminal {
		_, err = io.Copy(out, e.conn.Reader)
	} else {
		_, err = stdcopy.StdCopy(out, errs, e.conn.Reader)
	}
	_, _ = out.Close(), errs.Close() // closing a pipe never fails
	if e.isClosed() {
		err = nil // this end has closed the connection
	}
	e.code, e.err = e.exitCode(ctx, err)
	if e.signal(ctx, unix.SIGKILL) == nil { // what it left in its session
		entered(e.r.opts.Entered).forget(e.id)
	}
}

const (
	// exitPatience is how long the engine may take to record the exit of a program that was killed.
	exitPatience = 20 * time.Second
	// The pauses between the questions grow, because a program may outlive its output.
	exitPause, exitPauseMost = 10 * time.Millisecond, time.Second
)

// exitCode asks the engine until the program has exited.
func (e *execution) exitCode(ctx context.Context, read error) (int, error) {
	begin := time.Now()
	for pause := exitPause; ; pause = min(2*pause, exitPauseMost) {
		state, err := e.inspect(ctx)
		switch {
		case err != nil:
			return 0, e.r.entranceError(ctx, e.container.Config.Labels[labelID], err)
		case !state.Running && state.ExitCode == killed:
			return state.ExitCode, e.ifEnded(ctx)
		case !state.Running:
			return state.ExitCode, nil
		case read != nil:
			return 0, fmt.Errorf("read the output from the Docker Engine: %w", read)
		case e.isClosed() && time.Since(begin) > exitPatience:
			return 0, errors.New("the program runs on in the container")
		}
		if err := wait.For(ctx, pause); err != nil {
			return 0, err
		}
	}
}

func (e *execution) isClosed() bool {
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

// killed is the exit code of a program that was killed, like all of a container that ends.
const killed = 137

// endPatience is how long the engine may take to record the end of a container after that of a program
// inside.
const endPatience = time.Second

// ifEnded returns an error if the container has ended.
func (e *execution) ifEnded(ctx context.Context) error {
	begin := time.Now()
	for pause := exitPause; !e.isClosed() && time.Since(begin) < endPatience; pause *= 2 {
		if _, err := e.r.inspectRunning(ctx, e.container.Config.Labels[labelID]); errors.Is(err, container.ErrNotRunning) {
			return fmt.Errorf("the container has ended, and the program with it: %w", err)
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

func (e *execution) inspect(ctx context.Context) (state client.ExecInspectResult, err error) {
	err = askSoon(ctx, func(ctx context.Context) (err error) {
		state, err = e.r.api.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
		return err
	})
	return state, err
}

// endOfInput is the character that ends the input of a terminal (^D).
const endOfInput = 4

// Write writes to the standard input.
func (e *execution) Write(b []byte) (int, error) { return e.conn.Conn.Write(b) }

// CloseWrite ends the standard input.
func (e *execution) CloseWrite() error {
	if e.terminal {
		_, err := e.conn.Conn.Write([]byte{endOfInput})
		return err
	}
	return e.conn.CloseWrite()
}

// Stdout returns the output.
func (e *execution) Stdout() io.Reader { return e.stdout }

// Stderr returns the error output.
func (e *execution) Stderr() io.Reader { return e.stderr }

// Resize changes the size of the terminal.
func (e *execution) Resize(s stream.Size) error {
	if !e.terminal {
		return nil
	}
	ctx, cancel := e.asking()
	defer cancel()
	return e.resize(ctx, s)
}

func (e *execution) resize(ctx context.Context, s stream.Size) error {
	_, err := e.r.api.ExecResize(ctx, e.id, client.ExecResizeOptions{Width: uint(s.Columns), Height: uint(s.Rows)})
	return translateError(err)
}

// Wait waits for the end of the program.
func (e *execution) Wait() (code int, err error) {
	<-e.ended
	return e.code, e.err
}
