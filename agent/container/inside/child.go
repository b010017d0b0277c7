package inside

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// Child is a stream.Process that is run by a child of the agent.
type Child struct {
	pipes

	cmd *exec.Cmd
	// ended is closed when the child has exited and code is known.
	ended chan struct{}
	code  int
	err   error
	stop  context.CancelFunc

	// mu is held while processes are signaled, so that none of them is reaped meanwhile.
	mu     sync.Mutex
	leader int
	// belongs reports whether a process is one of the container's.
	belongs func(pid int) bool
	reaped  bool
}

var _ stream.Process = (*Child)(nil)

// childPatience is how long a child may run after its program was killed.
const childPatience = 5 * time.Second

// Following says how a Child follows its program.
type Following struct {
	// Leader returns the process ID of the program, which leads a session, once it runs.
	Leader func(ctx context.Context) (int, error)
	// Belongs reports whether a process is one of the container's.
	Belongs func(pid int) bool
	// Container waits for the end of the container, or of its context.
	Container func(ctx context.Context) error
	// Fault returns the reason why an exit code is not the program's, or nil. It is called once, with -1
	// for a child that did not start.
	Fault func(code int) error
	// Relay is true for a child that gives the program another terminal than its own.
	Relay bool
}

// StartChild starts a command, with a terminal or with pipes as its standard streams. The command is
// the program or, such as runc, starts it. The context bounds the start.
func StartChild(ctx context.Context, cmd *exec.Cmd, terminal *stream.Size, f Following) (*Child, error) {
	p, err := connect(cmd, terminal, f.Relay)
	if err != nil {
		return nil, cmp.Or(f.Fault(-1), err)
	}
	err = cmd.Start()
	p.closeTheirs()
	if err != nil {
		p.closeOurs()
		return nil, cmp.Or(f.Fault(-1), err)
	}
	c := &Child{pipes: p, cmd: cmd, ended: make(chan struct{}), belongs: f.Belongs}
	c.leader, err = f.Leader(ctx)
	var running *os.File
	if err == nil {
		running, err = c.open()
	}
	if err != nil {
		return nil, cmp.Or(c.abandon(f), err)
	}
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	go c.follow(follow, running, f)
	return c, nil
}

// open opens the program, or returns nil if it has exited.
func (c *Child) open() (*os.File, error) {
	running, err := OpenProcess(c.leader)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil //nolint:nilnil // see above
	}
	if err == nil && !c.belongs(c.leader) {
		return nil, running.Close()
	}
	return running, err
}

// abandon ends a child whose program did not start, and returns why.
func (c *Child) abandon(f Following) error {
	c.closeOurs()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // Fault knows more
	return f.Fault(exitCode(c.cmd.ProcessState))
}

// follow waits for the end of the program or of its container, ends what is left of the program, and
// reaps the child. running is nil if the program has exited.
func (c *Child) follow(ctx context.Context, running *os.File, f Following) {
	defer close(c.ended)
	if running != nil {
		c.awaitEither(ctx, running, f)
		_ = running.Close()
	}
	_ = c.signal(unix.SIGKILL)
	// A child that copies the output may wait for its reader, but not after Close.
	closed := context.AfterFunc(ctx, func() {
		impatient := time.NewTimer(childPatience)
		defer impatient.Stop()
		select {
		case <-impatient.C:
			_ = c.cmd.Process.Kill()
		case <-c.ended:
		}
	})
	defer closed()
	err := c.await(context.WithoutCancel(ctx))
	c.code = exitCode(c.cmd.ProcessState)
	if c.err = f.Fault(c.code); c.err == nil && c.cmd.ProcessState == nil {
		c.err = err
	}
}

// awaitEither returns when the program has exited, or must be ended because its container has.
func (c *Child) awaitEither(ctx context.Context, running *os.File, f Following) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		_ = f.Container(ctx) // an end and an error both mean that the program must not run on
		cancel()
	}()
	_ = AwaitExit(ctx, running)
	cancel()
	<-watching
}

// await waits for the child. It first waits for its exit without reaping it.
func (c *Child) await(ctx context.Context) error {
	if child, err := OpenProcess(c.cmd.Process.Pid); err == nil {
		_ = AwaitExit(ctx, child)
		_ = child.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	return c.cmd.Wait()
}

func exitCode(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if status, ok := s.Sys().(interface {
		Signaled() bool
		Signal() unix.Signal
	}); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

// Resize changes the size of the terminal.
func (c *Child) Resize(s stream.Size) error {
	if c.terminal == nil {
		return nil
	}
	return pty.Setsize(c.terminal, winsize(s))
}

// Signal sends a signal to the processes of the program's session and their descendants.
func (c *Child) Signal(name string) error {
	sig, err := SignalNumber(name)
	if err != nil {
		return err
	}
	return c.signal(sig)
}

// signal does nothing once the child is reaped.
func (c *Child) signal(sig unix.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return nil
	}
	if sig == unix.SIGKILL {
		return KillMembers(c.leader, c.belongs)
	}
	return SignalAll(Members(c.leader, c.belongs), sig)
}

// Wait waits for the end of the program.
func (c *Child) Wait() (code int, err error) {
	<-c.ended
	return c.code, c.err
}

// Close ends the program and what it left in its session.
func (c *Child) Close() error {
	c.closeOurs()
	c.stop()
	<-c.ended
	return nil
}
