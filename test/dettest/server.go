package dettest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/test/installed"
)

// Server runs det in forks of one interpreter, because starting an interpreter takes a second of
// processor time. It exits with the test binary.
type Server struct {
	mu      sync.Mutex // guards the fields below, and writes to stdin
	stdin   io.Writer
	last    int
	waiting map[int]chan<- result
	failed  error // the reason of its exit, nil while it runs
}

// request is an invocation of det.
type request struct {
	ID    int      `json:"id"`
	Args  []string `json:"args,omitempty"`
	Line  string   `json:"line,omitempty"` // arguments as in a shell, instead of Args
	Stdin string   `json:"stdin"`
	Env   []string `json:"env"`
	Dir   string   `json:"dir"`
	// Apart returns the two streams separately.
	Apart bool `json:"apart,omitempty"`
}

// result is the output of an invocation. Out is stdout and stderr, unless Apart was set.
type result struct {
	ID       int
	Exit     int
	Out, Err string
}

// StartServer starts a server with the command that launch returns for a program and its arguments.
func StartServer(t testing.TB, launch func(program string, args ...string) *exec.Cmd) *Server {
	t.Helper()
	s, err := startServer(launch(filepath.Join(Home(t), "bin", "python3"), installed.InProject("test", "dettest", "serve.py")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func startServer(cmd *exec.Cmd) (*Server, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{stdin: stdin, waiting: map[int]chan<- result{}}
	go func() {
		err := s.deliver(json.NewDecoder(stdout))
		_ = cmd.Process.Kill() // it may have exited
		err = errors.Join(err, cmd.Wait())
		s.fail(fmt.Errorf("the det client's interpreter ended: %w\n%s", err, &stderr))
	}()
	return s, nil
}

// deliver passes results to their callers until the server exits. It returns the error of the
// decoder.
func (s *Server) deliver(results *json.Decoder) error {
	for {
		var r result
		if err := results.Decode(&r); err != nil {
			return err
		}
		s.mu.Lock()
		if to := s.waiting[r.ID]; to != nil {
			to <- r // the channel has room for one result
			delete(s.waiting, r.ID)
		}
		s.mu.Unlock()
	}
}

// fail ends all invocations with an error.
func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	for _, to := range s.waiting {
		close(to)
	}
	clear(s.waiting)
}

// Run runs det in an environment and returns its two streams.
func (s *Server) Run(ctx context.Context, stdin string, env []string, args ...string) (out, errs string, err error) {
	r, err := s.run(ctx, request{Args: args, Stdin: stdin, Env: env, Apart: true})
	return r.Out, r.Err, err
}

// run runs det and returns its result.
func (s *Server) run(ctx context.Context, r request) (result, error) {
	dir, err := os.Getwd()
	if err != nil {
		return result{}, err
	}
	done := make(chan result, 1)
	r.Dir = dir
	if err := s.send(&r, done); err != nil {
		return result{}, err
	}
	select {
	case out, ok := <-done:
		if !ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			return result{}, s.failed
		}
		if out.Exit != 0 {
			return out, fmt.Errorf("exit status %d", out.Exit)
		}
		return out, nil
	case <-ctx.Done():
		s.kill(r.ID)
		return result{}, context.Cause(ctx)
	}
}

// send assigns an ID to a request and sends it.
func (s *Server) send(r *request, done chan<- result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	s.last++
	r.ID = s.last
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.waiting[r.ID] = done
	_, err = s.stdin.Write(append(text, '\n'))
	return err
}

// kill kills an invocation.
func (s *Server) kill(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
	_, _ = fmt.Fprintf(s.stdin, "{\"kill\": %d}\n", id) // if the server has exited, nothing runs
}

// shared is the server of all clients of the test binary.
var shared struct {
	sync.Mutex // guards server

	server *Server
}

func sharedServer(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		shared.server = StartServer(t, func(program string, args ...string) *exec.Cmd {
			return exec.Command(program, args...) //nolint:noctx // it serves all tests
		})
	}
	return shared.server
}
