// Package motest provides emulated AWS accounts for tests: a local moto server, extended with the
// behavior of Amazon's EC2. A test binary shares one server; each test gets its own account, so
// that tests can run in parallel. Only tests may import it.
package motest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/installed"
)

// startLimit is the startup timeout of the server, which takes two seconds, or longer on a loaded
// machine.
const startLimit = 60 * time.Second

// Server is a running moto server.
type Server struct {
	// URL is its URL: "http://127.0.0.1:43567". It contains an IP address and not a host name, so
	// that S3 clients use path-style URLs.
	URL string

	client *http.Client
	input  io.Closer
	log    *os.File
	cmd    *exec.Cmd
}

// shared returns the server of this test binary, which is started on first use. It exits with the
// binary, when its standard input is closed.
var shared = sync.OnceValues(func() (*Server, error) { return start(Place{Address: "127.0.0.1"}) })

// Open returns a new account on the shared server. It skips the test with -short. If moto is
// missing, it skips the test, or fails it under CI=true.
func Open(t testing.TB) *Account {
	t.Helper()
	need(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.Account(t)
}

// Place configures a server.
type Place struct {
	// Address is the address to listen on.
	Address string
	// Wrap is a command prefix: {"nsenter", "--net=…"} starts the server in another network
	// namespace.
	Wrap []string
	// Client connects to the server from the test. Nil uses a client of the host's network.
	Client *http.Client
}

// Serve starts a separate server that is stopped at the end of the test.
func Serve(t testing.TB, p Place) *Server {
	t.Helper()
	need(t)
	s, err := start(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.input.Close()
		_ = s.cmd.Wait() // it exits because its input was closed
		_ = s.log.Close()
	})
	return s
}

func need(t testing.TB) {
	t.Helper()
	installed.Environment(t, "moto", "moto", "python")
}

func python() string { return installed.InProject(".cache", "moto", "bin", "python") }

func start(p Place) (*Server, error) {
	args := slices.Concat(p.Wrap, []string{python(), installed.InProject("test", "moto", "world", "serve.py"), p.Address})
	// It exits when its input is closed, and is not bound to a test's context.
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // see above
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp("", "moto-*.log")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(log.Name()) // it remains readable through the open file
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start moto: %w", err)
	}
	s := &Server{client: p.Client, input: input, log: log, cmd: cmd}
	if s.client == nil {
		// A kept-alive connection would outlive the test.
		s.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	port, err := firstLine(output)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("start moto: %w\n%s", err, s.Log())
	}
	s.URL = "http://" + p.Address + ":" + port
	return s, nil
}

func firstLine(r io.Reader) (string, error) {
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(r).ReadString('\n') // without a line, the server has failed
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		if text == "" {
			return "", errors.New("moto exited before it printed its port")
		}
		return text, nil
	case <-time.After(startLimit):
		return "", context.DeadlineExceeded
	}
}

// Log returns the server's log, for a failed test.
func (s *Server) Log() string {
	text, err := io.ReadAll(io.NewSectionReader(s.log, 0, 1<<20))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
