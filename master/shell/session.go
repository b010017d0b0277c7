package shell

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// session is one session of a login: at most one program.
type session struct {
	*login

	channel ssh.Channel
	// variables are those that the client has set, and terminal is nil unless it wants one.
	variables []string
	terminal  *stream.Size
	started   bool

	mu      sync.Mutex // guards process
	process stream.Process
}

// Payloads of requests, as in RFC 4254, 6.2 to 6.10.
type (
	ptyRequest struct {
		Term                string
		Columns, Rows, X, Y uint32
		Modes               string
	}
	envRequest    struct{ Name, Value string }
	textRequest   struct{ Text string }
	resizeRequest struct{ Columns, Rows, X, Y uint32 }
	exitStatus    struct{ Code uint32 }
)

const (
	// mostVariables is the maximum number of variables that a client may set, and longestValue that of the
	// characters of one.
	mostVariables = 64
	longestValue  = 1024
	// longestCommand is the maximum length of a command line. Linux takes no argument of 128 KiB.
	longestCommand = 120 << 10
)

func (l *login) session(ctx context.Context, c ssh.NewChannel) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	s := &session{login: l, channel: channel}
	defer s.end()
	for r := range requests {
		ok := s.handle(ctx, r)
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
	}
}

// end ends the program, if it runs, and the channel.
func (s *session) end() {
	if p := s.current(); p != nil {
		_ = p.Close()
	}
	_ = s.channel.Close()
}

func (s *session) current() stream.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// handle carries out a request. It reports false for one that is refused.
func (s *session) handle(ctx context.Context, r *ssh.Request) bool {
	switch r.Type {
	case "pty-req":
		var in ptyRequest
		if ssh.Unmarshal(r.Payload, &in) != nil || s.terminal != nil {
			return false
		}
		s.terminal = sizeOf(in.Columns, in.Rows)
		return s.addVariable("TERM", in.Term)
	case "env":
		var in envRequest
		return ssh.Unmarshal(r.Payload, &in) == nil && (in.Name == "LANG" || strings.HasPrefix(in.Name, "LC_")) && s.addVariable(in.Name, in.Value)
	case "window-change":
		var in resizeRequest
		p := s.current()
		return ssh.Unmarshal(r.Payload, &in) == nil && p != nil && p.Resize(*sizeOf(in.Columns, in.Rows)) == nil
	case "signal":
		var in textRequest
		p := s.current()
		return ssh.Unmarshal(r.Payload, &in) == nil && p != nil && p.Signal(in.Text) == nil
	case "shell":
		return s.start(ctx, loginShell())
	case "exec":
		var in textRequest
		return ssh.Unmarshal(r.Payload, &in) == nil && s.startCommand(ctx, in.Text)
	case "subsystem":
		var in textRequest
		return ssh.Unmarshal(r.Payload, &in) == nil && in.Text == "sftp" && s.transfer(ctx)
	}
	return false
}

// addVariable sets a variable of the program. Its value may have any characters but newlines and zeros.
func (s *session) addVariable(name, value string) bool {
	if len(s.variables) >= mostVariables || len(name)+len(value) > longestValue || strings.ContainsAny(value, "\n\x00") {
		return false
	}
	s.variables = append(s.variables, name+"="+value)
	return true
}

// start starts the program of the session.
func (s *session) start(ctx context.Context, argv []string) bool {
	if s.started {
		return false
	}
	limit, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	p, err := s.cfg.Streams().Exec(limit, s.container, stream.Program{Argv: withVariables(s.variables, argv), Terminal: s.terminal})
	if err != nil {
		s.complain(err)
		return false
	}
	s.started = true
	s.mu.Lock()
	s.process = p
	s.mu.Unlock()
	go s.run(p)
	return true
}

// complain tells the client why no program starts.
func (s *session) complain(err error) {
	_, _ = io.WriteString(s.channel.Stderr(), "det-deploy: cannot start a program in this shell: "+err.Error()+"\r\n")
}

// startCommand starts a command line of the client.
func (s *session) startCommand(ctx context.Context, line string) bool {
	if len(line) > longestCommand || strings.ContainsRune(line, 0) {
		s.complain(errors.New("the command line has more than 120 KiB, or a byte that is zero; send a script as standard input, as in: ssh HOST sh <script"))
		return false
	}
	return s.start(ctx, []string{"/bin/sh", "-c", commandOf(line)})
}

// commandOf returns the command line for a client's. The old protocol of scp needs a program of the image.
func commandOf(line string) string {
	if !strings.HasPrefix(line, "scp ") {
		return line
	}
	return `command -v scp >/dev/null || { echo "det-deploy: the image of this shell has no scp; use scp without -O, which does not need it" >&2; exit 127; }
` + line
}

// run copies the input and the output of the program, and reports its exit code.
func (s *session) run(p stream.Process) {
	go func() {
		if _, err := io.Copy(p, s.channel); err == nil {
			_ = p.CloseWrite()
		}
	}()
	var output sync.WaitGroup
	output.Go(func() { _, _ = io.Copy(s.channel.Stderr(), p.Stderr()) })
	_, _ = io.Copy(s.channel, p.Stdout())
	output.Wait()
	code, err := p.Wait()
	if err == nil {
		_, _ = s.channel.SendRequest("exit-status", false, ssh.Marshal(exitStatus{uint32(code)})) //nolint:gosec // 0 to 255
	}
	_ = s.channel.Close() // the requests end with it
}

// sizeOf returns the size of a terminal. Clients without one send 0.
func sizeOf(columns, rows uint32) *stream.Size {
	return &stream.Size{Columns: uint16(min(columns, 10_000)), Rows: uint16(min(rows, 10_000))} //nolint:gosec // bounded
}

// loginShell returns the user's shell, or the best one that the image has.
func loginShell() []string {
	return []string{"/bin/sh", "-c", `for s in "$SHELL" /bin/bash /bin/sh; do [ -x "$s" ] && exec "$s" -l; done`}
}

// withVariables returns a program that sets variables and then runs another one. It needs only /bin/sh.
func withVariables(variables, argv []string) []string {
	if len(variables) == 0 {
		return argv
	}
	script := `while [ "$1" != -- ]; do export "$1"; shift; done; shift; exec "$@"`
	out := append([]string{"/bin/sh", "-c", script, "sh"}, variables...)
	return append(append(out, "--"), argv...)
}
