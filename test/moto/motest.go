// Package motest gives a test an account of Amazon's that nobody pays for:
// moto's server on this machine, with an EC2 that behaves as Amazon's does. One
// server serves a test binary; each test gets an account of its own, so that
// tests run side by side. Only tests may import it.
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

// startLimit is how long the server may take until it tells its port: two
// seconds of Python, more on a loaded machine.
const startLimit = 60 * time.Second

// Server is a running moto.
type Server struct {
	// URL is where it answers: "http://127.0.0.1:43567". It is an address and
	// not a name, so that S3 is asked with the bucket in the path.
	URL string

	client *http.Client
	input  io.Closer
	log    *os.File
	cmd    *exec.Cmd
}

// shared starts the server of this test binary when the first test asks. It
// ends with the binary, whose end closes its standard input.
var shared = sync.OnceValues(func() (*Server, error) { return start(Place{Address: "127.0.0.1"}) })

// Open returns a new account on the server that the tests of this binary share.
// It is skipped with -short; where moto is missing the test is skipped, or
// fails under CI=true.
func Open(t testing.TB) *Account {
	t.Helper()
	need(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.Account(t)
}

// Place is where a server runs.
type Place struct {
	// Address is what it listens on.
	Address string
	// Wrap is a command before the server's own: {"nsenter", "--net=…"} puts it
	// into another network.
	Wrap []string
	// Client reaches it from the test; nil is one that reaches this machine.
	Client *http.Client
}

// Serve starts a server of the test's own. It ends with the test.
func Serve(t testing.TB, p Place) *Server {
	t.Helper()
	need(t)
	s, err := start(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.input.Close()
		_ = s.cmd.Wait() // it ends because its input did
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
	// It ends when its input does; no test's context ends it.
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
	_ = os.Remove(log.Name()) // it stays readable here, and goes with the process
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start moto: %w", err)
	}
	s := &Server{client: p.Client, input: input, log: log, cmd: cmd}
	if s.client == nil {
		// A kept connection would outlive the test.
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
		text, _ := bufio.NewReader(r).ReadString('\n') // without a line it tells nothing
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		if text == "" {
			return "", errors.New("it ended before it told its port")
		}
		return text, nil
	case <-time.After(startLimit):
		return "", context.DeadlineExceeded
	}
}

// Log is what the server wrote so far, for a test that fails.
func (s *Server) Log() string {
	text, err := io.ReadAll(io.NewSectionReader(s.log, 0, 1<<20))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
