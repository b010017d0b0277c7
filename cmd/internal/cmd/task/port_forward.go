package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	pause "github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type forwardOptions struct {
	command.Remote

	Rank    int
	Address string
}

func newPortForward(s *term.Streams) *cobra.Command {
	o := &forwardOptions{Remote: command.Remote{Nouns: []client.Noun{client.Tasks}, Open: true}}
	c := command.New(s, o, runPortForward, &cobra.Command{
		Use:   "port-forward TASK [--rank N] [LOCAL:]REMOTE…",
		Args:  cobra.ArbitraryArgs,
		Short: "Forward local ports to ports of a running task",
		Long: `Forward ports of this machine to ports of a running task, as they are seen inside its
container at localhost, until Ctrl-C or the end of the task. Without LOCAL, the same port is
used here; with ":REMOTE", a free one. TASK may be the task of a trial, or the trial itself: its
number or EXPERIMENT.N. Only programs on this machine can connect, unless --address
names another address of it; connections from elsewhere have no password.`,
		Example: `  det-deploy task port-forward 5d1f6f2e 8888
  det-deploy task port-forward 5d1f6f2e :6006 9000:8000`,
	})
	f := c.Flags()
	f.IntVar(&o.Rank, "rank", 0, "rank of the process whose container is reached")
	f.StringVar(&o.Address, "address", "127.0.0.1", "address of this machine at which to listen")
	return c
}

// Validate checks the command line.
func (o *forwardOptions) Validate() error {
	switch {
	case len(o.Args) == 0:
		return usage.Errorf("TASK is missing: det-deploy task port-forward TASK LOCAL:REMOTE")
	case len(o.Args) == 1:
		return usage.Errorf("a port is missing, such as 8888 or 9000:8888")
	case !o.Output.IsText():
		return usage.Errorf("--output %s: port-forward prints text only", o.Output)
	case o.Rank < 0:
		return usage.Errorf("--rank %d: must be 0 or more", o.Rank)
	}
	for _, text := range o.Args[1:] {
		if _, err := parseForward(text); err != nil {
			return err
		}
	}
	return nil
}

// forward is a pair of ports; 0 for local is a free one.
type forward struct{ local, remote int }

// parseForward parses REMOTE, LOCAL:REMOTE or :REMOTE.
func parseForward(text string) (forward, error) {
	local, remote, found := strings.Cut(text, ":")
	if !found {
		remote = local
	}
	to, err := strconv.ParseUint(remote, 10, 16)
	from := uint64(0)
	if err == nil && local != "" {
		from, err = strconv.ParseUint(local, 10, 16)
	}
	if err != nil || to == 0 || local == "0" {
		return forward{}, usage.Errorf("%q is not a pair of ports: type REMOTE, LOCAL:REMOTE, or :REMOTE for a free local port", text)
	}
	return forward{int(from), int(to)}, nil //nolint:gosec // 16 bits
}

func runPortForward(ctx context.Context, o *forwardOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	id, err := resolveTask(ctx, master, o.Args[0])
	if err != nil {
		return err
	}
	if err := checkRuns(ctx, master, id); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &tunnel{Streams: o.Streams, master: master, in: client.Process{Task: id, Rank: o.Rank}, ctx: ctx}
	defer t.work.Wait()
	defer cancel(nil)
	for _, text := range o.Args[1:] {
		f, _ := parseForward(text) // Validate has
		if err := t.listen(o.Address, f); err != nil {
			return err
		}
	}
	return exit.Followed(ctx, watchEnd(ctx, master, id))
}

// pollEnd is the time between two looks at whether the task has ended.
const pollEnd = 5 * time.Second

// watchEnd waits until a task has ended.
func watchEnd(ctx context.Context, master *client.Client, id string) error {
	for {
		if err := pause.For(ctx, pollEnd); err != nil {
			return err
		}
		if err := checkRuns(ctx, master, id); err != nil && client.KindOf(err) != client.Unavailable {
			return err
		}
	}
}

// checkRuns returns an error if a task has ended or is unknown.
func checkRuns(ctx context.Context, master *client.Client, id string) error {
	reply, err := master.Task(ctx, id)
	if err != nil {
		return err
	}
	if hasTaskEnded(reply.GetTask()) {
		return fmt.Errorf("task %s has ended", id)
	}
	return nil
}

// hasTaskEnded reports whether a task of any kind has ended.
func hasTaskEnded(t *apiv1.Task) bool { return t.GetEndTime() != nil }

// tunnel forwards connections to a process until ctx is done.
type tunnel struct {
	*term.Streams
	master *client.Client
	in     client.Process
	ctx    context.Context //nolint:containedctx // of the command
	work   sync.WaitGroup
}

// listen forwards the connections to a local port.
func (t *tunnel) listen(address string, f forward) error {
	l, err := (&net.ListenConfig{}).Listen(t.ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(f.local)))
	if err != nil {
		return fmt.Errorf("cannot listen: %w; choose another port, or :%d for a free one", err, f.remote)
	}
	context.AfterFunc(t.ctx, func() { _ = l.Close() })
	if _, err := fmt.Fprintf(t.Out, "Forwarding from %s -> %d\n", l.Addr(), f.remote); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	t.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // it is closed
			}
			t.work.Go(func() { t.serve(c, f.remote) })
		}
	})
	return nil
}

// serve forwards one connection.
func (t *tunnel) serve(c net.Conn, port int) {
	defer func() { _ = c.Close() }()
	to, err := t.master.DialPort(t.ctx, t.in, port)
	if err != nil {
		t.tell(port, err)
		return
	}
	defer func() { _ = to.Close() }()
	defer context.AfterFunc(t.ctx, func() { _ = c.Close() })()
	t.work.Go(func() {
		_, _ = io.Copy(to, c)
		_ = to.CloseWrite() // the other direction may continue
	})
	if _, err := io.Copy(c, to); err != nil && !errors.Is(err, net.ErrClosed) {
		t.tell(port, err)
		return
	}
	if half, ok := c.(*net.TCPConn); ok {
		_ = half.CloseWrite() // as above
	}
}

// tell says why a connection has failed.
func (t *tunnel) tell(port int, err error) {
	if t.ctx.Err() == nil {
		t.Notef("port %d: %s", port, term.Harmless(err.Error()))
	}
}
