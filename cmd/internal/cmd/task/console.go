package task

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// console holds the flags about the input and the terminal of a program in a task.
type console struct {
	Interactive bool
	TTY         bool
}

func (c *console) addConsoleFlags(f *pflag.FlagSet) {
	f.BoolVarP(&c.Interactive, "interactive", "i", false, "pass standard input to the program")
	f.BoolVarP(&c.TTY, "tty", "t", false, "run the program on a terminal")
}

// checkConsole returns an error for a terminal that does not exist.
func (c *console) checkConsole(s *term.Streams) error {
	if c.TTY && !s.IsInteractive() {
		return usage.Errorf("--tty: standard input and output must be a terminal; leave -t out in scripts and pipes")
	}
	return nil
}

// program returns a program with the terminal that the flags select, which is of the kind of this one.
func (c *console) program(s *term.Streams, argv []string) stream.Program {
	p := stream.Program{Argv: argv}
	if c.TTY {
		if kind := s.Getenv("TERM"); kind != "" {
			p.Argv = append([]string{"env", "TERM=" + kind}, argv...)
		}
		columns, rows := s.OutSize()
		p.Terminal = &stream.Size{Columns: uint16(columns), Rows: uint16(rows)} //nolint:gosec // of a terminal
	}
	return p
}

// interruptTime is how long a program may take to end after Ctrl-C.
const interruptTime = 10 * time.Second

// follow connects a program to the streams of this process, whose lines begin with head, and returns its
// exit code. Ctrl-C interrupts a program without a terminal.
func (c *console) follow(ctx context.Context, s *term.Streams, p stream.Process, head string) (int, error) {
	defer func() { _ = p.Close() }() // ends the program if printing has failed
	defer context.AfterFunc(ctx, func() {
		_ = p.Signal("INT")
		time.AfterFunc(interruptTime, func() { _ = p.Close() })
	})()
	if c.TTY {
		restore, err := s.Raw()
		if err != nil {
			return 0, err
		}
		defer restore()
		defer s.FollowSize(func(columns, rows int) {
			_ = p.Resize(stream.Size{Columns: uint16(columns), Rows: uint16(rows)}) //nolint:gosec // of a terminal
		})()
	}
	c.feed(s, p)
	if err := c.copyOutput(s, p, head); err != nil {
		return 0, err
	}
	return p.Wait()
}

// feed passes the input on. A program without -i gets none.
func (c *console) feed(s *term.Streams, p stream.Process) {
	switch {
	case c.Interactive:
		go func() { // it ends with this process
			_, _ = io.Copy(p, s.In)
			_ = p.CloseWrite()
		}()
	case !c.TTY:
		_ = p.CloseWrite() // it may have ended
	}
}

// copyOutput prints the output until its end.
func (c *console) copyOutput(s *term.Streams, p stream.Process, head string) error {
	if c.TTY { // the program has the terminal for itself
		_, err := io.Copy(s.Out, untilEnd{p.Stdout()})
		return err
	}
	out, errs := s.Foreign(head)
	var both sync.WaitGroup
	var failed [2]error
	show := func(i int, to *term.ForeignWriter, from io.Reader) {
		_, err := io.Copy(to, untilEnd{from})
		failed[i] = errors.Join(err, to.Flush())
	}
	both.Go(func() { show(0, out, p.Stdout()) })
	both.Go(func() { show(1, errs, p.Stderr()) })
	both.Wait()
	return errors.Join(failed[:]...)
}

// untilEnd is the output of a program, which ends where its stream does: Wait returns why.
type untilEnd struct{ io.Reader }

// Read implements io.Reader.
func (u untilEnd) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// exitWith returns the exit code of a program as an error, or 125 for an error of ours.
func exitWith(code int, err error) error {
	switch {
	case err != nil:
		return exit.With(exit.NotTheTask, err)
	case code != 0:
		return exit.With(exit.Code(code), nil)
	}
	return nil
}

// resolveTask returns the ID of the task that a text names: by its ID, the beginning of it, or its name;
// or the task of a trial, by its number or EXPERIMENT.N.
func resolveTask(ctx context.Context, master *client.Client, text string) (string, error) {
	id, err := command.Resolve(ctx, master, client.Tasks, text)
	if err != nil || id != text || !isTrialName(text) {
		return id, err
	}
	trial, err := command.ResolveNumber(ctx, master, client.Trials, text)
	if err != nil {
		return "", err
	}
	m, err := master.Trial(ctx, trial)
	if err != nil {
		return "", err
	}
	if m.GetTaskId() != "" {
		return m.GetTaskId(), nil
	}
	return text, nil
}

// isTrialName reports whether a text is the number of a trial, or EXPERIMENT.N.
func isTrialName(text string) bool {
	return text != "" && strings.Trim(text, "0123456789.") == ""
}
