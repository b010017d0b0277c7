package inside

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// pipes are the agent's ends of the standard streams of a program.
type pipes struct {
	stdin, stdout, stderr *os.File
	// terminal is nil for a program without one; otherwise stdin and stdout are it.
	terminal *os.File
	theirs   []*os.File
	closing  *sync.Once
}

// connect sets the standard streams of a command.
func connect(cmd *exec.Cmd, terminal *stream.Size, relay bool) (p pipes, err error) {
	p.closing = new(sync.Once)
	if terminal != nil {
		err = p.openTerminal(cmd, *terminal, relay)
		return p, err
	}
	defer func() {
		if err != nil {
			p.closeTheirs()
			p.closeOurs()
		}
	}()
	var in, out, errs *os.File
	if in, p.stdin, err = p.open(); err != nil {
		return p, err
	}
	p.theirs = append(p.theirs, in)
	if p.stdout, out, err = p.open(); err != nil {
		return p, err
	}
	p.theirs = append(p.theirs, out)
	if p.stderr, errs, err = p.open(); err != nil {
		return p, err
	}
	p.theirs = append(p.theirs, errs)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	return p, p.chown(cmd)
}

func (*pipes) open() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		err = fmt.Errorf("connect the program: %w", err)
	}
	return r, w, err
}

// openTerminal gives the command a controlling terminal. That of a relay neither echoes nor interprets
// its input.
func (p *pipes) openTerminal(cmd *exec.Cmd, size stream.Size, relay bool) error {
	master, slave, err := pty.Open()
	if err != nil {
		return fmt.Errorf("open a terminal: %w", err)
	}
	p.terminal, p.stdin, p.stdout, p.theirs = master, master, master, []*os.File{slave}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setctty = true
	err = errors.Join(pty.Setsize(master, winsize(size)), p.chown(cmd))
	if relay && err == nil {
		_, err = term.MakeRaw(int(slave.Fd()))
	}
	if err != nil {
		p.closeTheirs()
		p.closeOurs()
		return fmt.Errorf("open a terminal: %w", err)
	}
	return nil
}

// chown gives the streams to the command's user, who may open them again through /dev/stdout or
// /dev/pts.
func (p *pipes) chown(cmd *exec.Cmd) error {
	who := cmd.SysProcAttr.Credential
	if who == nil {
		return nil
	}
	for _, f := range p.theirs {
		if err := f.Chown(int(who.Uid), -1); err != nil {
			return err
		}
	}
	return nil
}

func winsize(s stream.Size) *pty.Winsize { return &pty.Winsize{Cols: s.Columns, Rows: s.Rows} }

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
	p.theirs = nil
}

func (p *pipes) closeOurs() {
	p.closing.Do(func() {
		for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
			if f != nil {
				_ = f.Close() // the terminal is closed twice
			}
		}
	})
}

// endOfInput is the character that ends the input of a terminal (^D).
const endOfInput = 4

// Write writes to the standard input.
func (p *pipes) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseWrite ends the standard input.
func (p *pipes) CloseWrite() error {
	if p.terminal != nil {
		_, err := p.terminal.Write([]byte{endOfInput})
		return err
	}
	return p.stdin.Close()
}

// Stdout returns the output.
func (p *pipes) Stdout() io.Reader { return output{p.stdout} }

// Stderr returns the error output.
func (p *pipes) Stderr() io.Reader {
	if p.stderr == nil {
		return eof{}
	}
	return output{p.stderr}
}

// output reads from a pipe or a terminal. The end of a terminal's last process is an EIO.
type output struct{ f *os.File }

func (o output) Read(b []byte) (int, error) {
	n, err := o.f.Read(b)
	if errors.Is(err, unix.EIO) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
