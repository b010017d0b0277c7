package shell_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/shell"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine runs the programs of a container as processes of the test.
type machine struct {
	rm.Streams

	// tools is the only directory of PATH, and has sh. It is empty for those of the machine.
	tools string

	mu       sync.Mutex
	programs []stream.Program
	resized  chan stream.Size
}

// process is a program of the machine.
type process struct {
	io.WriteCloser

	cmd            *exec.Cmd
	stdout, stderr io.Reader
	machine        *machine
}

func (m *machine) Exec(_ context.Context, c rm.ContainerID, p stream.Program) (stream.Process, error) {
	if c != "c1" {
		return nil, rm.ErrNotRunning
	}
	m.mu.Lock()
	m.programs = append(m.programs, p)
	m.mu.Unlock()
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...) // Close ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if m.tools != "" {
		cmd.Path, cmd.Env = filepath.Join(m.tools, filepath.Base(p.Argv[0])), []string{"PATH=" + m.tools}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	return &process{in, cmd, out, errs, m}, cmd.Start()
}

func (m *machine) Dial(ctx context.Context, _ rm.ContainerID, port int) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

func (p *process) CloseWrite() error { return p.WriteCloser.Close() }
func (p *process) Stdout() io.Reader { return p.stdout }
func (p *process) Stderr() io.Reader { return p.stderr }

func (p *process) Resize(s stream.Size) error {
	p.machine.resized <- s
	return nil
}

func (p *process) Signal(name string) error {
	return syscall.Kill(-p.cmd.Process.Pid, map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[name])
}

func (p *process) Wait() (int, error) {
	err := p.cmd.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (p *process) Close() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// world is a server with one shell.
type world struct {
	t       *testing.T
	machine *machine
	server  *shell.Server
	host    ssh.PublicKey
	key     ssh.Signer
	private ed25519.PrivateKey
	entered chan rm.TaskID
}

func privateKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func newKey(t *testing.T, seed byte) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(privateKey(seed))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newWorld(t *testing.T) *world {
	t.Helper()
	host, err := shell.HostKey(t.Context(), storetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, machine: &machine{resized: make(chan stream.Size, 1)}, host: host.PublicKey(), key: newKey(t, 1), private: privateKey(1), entered: make(chan rm.TaskID, 64)}
	w.server = shell.New(shell.Config{
		HostKey: host,
		KeyOf: func(id rm.TaskID) (ssh.PublicKey, rm.ContainerID, bool) {
			return w.key.PublicKey(), "c1", id == "s1"
		},
		Streams: func() rm.Streams { return w.machine },
		Entered: func(_ context.Context, id rm.TaskID, _ string) { w.entered <- id },
	})
	return w
}

// logIn logs in to a shell with a key.
func (w *world) logIn(id rm.TaskID, key ssh.Signer) (*ssh.Client, error) {
	l, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if server, err := l.Accept(); err == nil {
			w.server.Serve(w.t.Context(), server, id, "127.0.0.1:1")
		}
	}()
	client, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	w.t.Cleanup(func() { _ = client.Close(); <-ended })
	conn, channels, requests, err := ssh.NewClientConn(client, "s1", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.FixedHostKey(w.host), Timeout: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(conn, channels, requests), nil
}

func (w *world) must() *ssh.Client {
	w.t.Helper()
	c, err := w.logIn("s1", w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) session(c *ssh.Client) *ssh.Session {
	w.t.Helper()
	s, err := c.NewSession()
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestOnlyTheKeyOfTheShellLogsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.logIn("s1", newKey(t, 2)); err == nil {
		t.Error("another key logs in")
	}
	if _, err := w.logIn("s2", w.key); err == nil {
		t.Error("the key logs in to another shell")
	}
	if len(w.entered) > 0 {
		t.Error("a failed login is recorded as one")
	}
	w.must()
	if id := <-w.entered; id != "s1" {
		t.Errorf("got a login to %s", id)
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	c := newWorld(t)
	client := c.must()
	for name, row := range map[string]struct {
		command, input, stdout, stderr string
		code                           int
	}{
		"both outputs":           {"echo out; echo err >&2", "", "out\n", "err\n", 0},
		"the exit code":          {"exit 7", "", "", "", 7},
		"input until its end":    {"tr a-z A-Z", "hello", "HELLO", "", 0},
		"a quoted command line":  {"printf '%s|' 'a b' $((1+1))", "", "a b|2|", "", 0},
		"more output than input": {"head -c 300000 /dev/zero | tr '\\0' x", "", strings.Repeat("x", 300000), "", 0},
	} {
		s := c.session(client)
		var out, errs bytes.Buffer
		s.Stdin, s.Stdout, s.Stderr = strings.NewReader(row.input), &out, &errs
		err := s.Run(row.command)
		code := 0
		if exit, is := errors.AsType[*ssh.ExitError](err); is {
			code, err = exit.ExitStatus(), nil
		}
		if err != nil || code != row.code || out.String() != row.stdout || errs.String() != row.stderr {
			t.Errorf("%s: got %q, %q, %d and %v, want %q, %q and %d", name, out.String(), errs.String(), code, err, row.stdout, row.stderr, row.code)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session(w.must())
	if err := s.Setenv("LC_ALL", `a "b" $c`); err != nil {
		t.Errorf("got %v for a variable of the locale", err)
	}
	for _, name := range []string{"LD_PRELOAD", "PATH"} {
		if err := s.Setenv(name, "x"); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := s.Setenv("LANG", "a\nb"); err == nil {
		t.Error("a newline is accepted")
	}
	if out, err := s.Output(`printf %s "$LC_ALL"`); err != nil || string(out) != `a "b" $c` {
		t.Errorf("got %q and %v", out, err)
	}
}

func TestTerminals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session(w.must())
	if err := s.RequestPty("xterm-256color", 24, 80, nil); err != nil {
		t.Fatal(err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(`echo $TERM; cat`); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("xterm-256color\n"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "xterm-256color\n" {
		t.Errorf("got %q and %v", line, err)
	}
	w.machine.mu.Lock()
	terminal := w.machine.programs[0].Terminal
	w.machine.mu.Unlock()
	if terminal == nil || *terminal != (stream.Size{Columns: 80, Rows: 24}) {
		t.Errorf("got terminal %+v", terminal)
	}
	if err := s.WindowChange(50, 132); err != nil {
		t.Fatal(err)
	}
	if got := <-w.machine.resized; got != (stream.Size{Columns: 132, Rows: 50}) {
		t.Errorf("got size %+v", got)
	}
	_ = in.Close()
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

func TestSignalsAndEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.must()
	s := w.session(client)
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start("echo on; exec sleep 1000"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := s.Signal(ssh.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if exit, is := errors.AsType[*ssh.ExitError](s.Wait()); !is || exit.ExitStatus() != 128+15 {
		t.Errorf("got %v, want the end by a signal", exit)
	}
	// A program ends with its login; the test's own end waits for it.
	if err := w.session(client).Start("sleep 1000"); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
}

func TestForwarding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(conn, conn)
		_ = conn.Close()
	}()
	client := w.must()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	conn, err := client.Dial("tcp", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "hello")
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if b, err := io.ReadAll(conn); err != nil || string(b) != "hello" {
		t.Errorf("got %q and %v, want the echo", b, err)
	}
	for _, address := range []string{"169.254.169.254:80", "10.0.0.1:22", "localhost:0"} {
		if _, err := client.Dial("tcp", address); err == nil {
			t.Errorf("%s is forwarded", address)
		}
	}
	if _, err := client.Listen("tcp", "127.0.0.1:0"); err == nil {
		t.Error("ports towards the client are forwarded")
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session(w.must())
	for _, name := range []string{"auth-agent-req@openssh.com", "x11-req", "unknown"} {
		if ok, err := s.SendRequest(name, true, nil); err != nil || ok {
			t.Errorf("%s: got %t and %v, want it refused", name, ok, err)
		}
	}
	for _, payload := range [][]byte{nil, {0, 0, 0, 9}, bytes.Repeat([]byte{0xff}, 100)} {
		for _, name := range []string{"pty-req", "env", "exec", "window-change", "signal"} {
			if ok, err := s.SendRequest(name, true, payload); err != nil || ok {
				t.Errorf("%s with %v: got %t and %v, want it refused", name, payload, ok, err)
			}
		}
	}
}

func TestSessionsOfALoginAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.must()
	for range 64 {
		w.session(client)
	}
	if _, err := client.NewSession(); err == nil {
		t.Error("one session more is accepted")
	}
}

func TestHostKeyStays(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	a, err := shell.HostKey(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := shell.HostKey(t.Context(), s)
	if err != nil || !bytes.Equal(a.PublicKey().Marshal(), b.PublicKey().Marshal()) {
		t.Errorf("got another key and %v", err)
	}
}
