package streams

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/rm"
)

// announce prints the process ID before it becomes the program. Kubernetes can neither signal a program
// that it has started inside a container nor end it with its stream, but another program can.
const announce = `echo $$; exec "$@"`

// Exec starts a program.
func (c Client) Exec(ctx context.Context, to Container, p stream.Program) (stream.Process, error) {
	out, err := c.start(ctx, to, append([]string{"/bin/sh", "-c", announce, "sh"}, p.Argv...), p.Terminal)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// start runs a command that prints a process ID first, and waits for it.
func (c Client) start(ctx context.Context, to Container, argv []string, terminal *stream.Size) (*process, error) {
	executor, err := c.executor(to, argv, terminal != nil)
	if err != nil {
		return nil, explainError(err)
	}
	p := newProcess(c, to, terminal)
	p.after = context.WithoutCancel(ctx)
	life, cancel := context.WithCancel(p.after)
	p.cancel = cancel
	defer context.AfterFunc(ctx, cancel)() // until it has started
	go p.run(life, executor)               //nolint:contextcheck // ctx ends with the start
	if err := p.readPID(); err != nil {
		p.release()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return p, nil
}

// executor returns the way to run a command: a websocket, or SPDY where that fails.
func (c Client) executor(to Container, argv []string, terminal bool) (remotecommand.Executor, error) {
	at := c.streamURL(to, "exec", execOptions(to, argv, terminal))
	spdy, err := remotecommand.NewSPDYExecutor(c.Config, http.MethodPost, at)
	if err != nil {
		return nil, err
	}
	websocket, err := remotecommand.NewWebSocketExecutor(c.Config, http.MethodGet, at.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(websocket, spdy, mayFallBack)
}

// process is a program in a pod.
type process struct {
	client Client
	to     Container
	pid    string
	cancel context.CancelFunc
	// after is for signals, which may be sent long after the start.
	after context.Context //nolint:containedctx // it has the values of the one of the start

	// The first ends are the user's, and the second ones are client-go's.
	stdin, out, err pipe
	stdout          *bufio.Reader
	sizes           chan stream.Size
	terminal        bool
	done            chan struct{}
	code            int // of the program, valid after done
	failure         error
}

type pipe struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func newPipe() pipe {
	r, w := io.Pipe()
	return pipe{r, w}
}

func newProcess(c Client, to Container, terminal *stream.Size) *process {
	p := &process{client: c, to: to, stdin: newPipe(), out: newPipe(), err: newPipe(), sizes: make(chan stream.Size, 1), done: make(chan struct{})}
	p.stdout = bufio.NewReader(p.out.r)
	if terminal != nil {
		p.terminal = true
		p.sizes <- *terminal
	}
	return p
}

// run transfers the streams until the program ends.
func (p *process) run(ctx context.Context, e remotecommand.Executor) {
	options := remotecommand.StreamOptions{Stdin: p.stdin.r, Stdout: p.out.w, Tty: p.terminal}
	if p.terminal {
		options.TerminalSizeQueue = queue{p}
	} else {
		options.Stderr = p.err.w
	}
	p.code, p.failure = exitOf(e.StreamWithContext(ctx, options))
	close(p.done)
	_, _, _ = p.stdin.w.Close(), p.out.w.Close(), p.err.w.Close() // a pipe's Close returns nil
	p.cancel()
}

// exitOf returns the exit code of a program.
func exitOf(err error) (int, error) {
	if err == nil {
		return 0, nil
	}
	if exited, ok := errors.AsType[utilexec.CodeExitError](err); ok {
		return exited.Code, nil
	}
	return -1, explainError(err)
}

// readPID reads the first line of the output.
func (p *process) readPID() error {
	line, err := p.stdout.ReadSlice('\n')
	if err == nil {
		p.pid = strings.TrimSpace(string(line))
		if _, err = strconv.ParseUint(p.pid, 10, 31); err == nil {
			return nil
		}
	}
	select {
	case <-p.done:
	default:
		return fmt.Errorf("start a program in the pod: its shell did not print its process ID first but %q", line)
	}
	switch {
	case p.failure != nil && strings.Contains(p.failure.Error(), "/bin/sh"):
		return &rm.UnreachableError{Reason: "the image of the task has no /bin/sh, which is needed to run a program or copy files in a pod"}
	case p.failure != nil:
		return p.failure
	}
	return &endedError{p.code}
}

// endedError reports that a shell has ended before it started the program.
type endedError struct{ code int }

func (e *endedError) Error() string {
	return fmt.Sprintf("start a program in the pod: /bin/sh ended with exit code %d", e.code)
}
