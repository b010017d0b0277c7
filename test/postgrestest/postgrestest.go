// Package postgrestest starts a private PostgreSQL for a test, from the binaries of
// the system's packages. Only tests may import it.
package postgrestest

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startLimit is how long a server may take until it answers; a busy two-core machine
// needs one or two seconds.
const startLimit = 60 * time.Second

// port names the socket in its directory; the server has no other address.
const port = "5432"

// Options changes the server.
type Options struct {
	// Fsync makes the server wait for the disk, as a real one does. Tests that do not
	// cut its power are the same without, and faster.
	Fsync bool
}

// Server is a running PostgreSQL, reachable by a socket.
type Server struct {
	t         testing.TB
	bin       string
	dir       string // data, log and socket
	fsync     bool
	cred      *syscall.Credential // nil when we are not root
	cmd       *exec.Cmd
	ended     chan error
	databases int
}

// Start starts a server that ends with the test. In a short run the test is skipped;
// where PostgreSQL is not installed too, but in CI (CI=true) it fails.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("a short run leaves PostgreSQL out")
	}
	bin := binaries()
	if bin == "" {
		const missing = "PostgreSQL is not installed; run: apt-get install -y postgresql"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	// Not t.TempDir: a socket's path is limited to 107 bytes and must be open to the
	// user the server runs as.
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left of a temporary directory hurts nobody
	s := &Server{t: t, bin: bin, dir: dir, fsync: o.Fsync}
	if os.Getuid() == 0 {
		s.cred = unprivileged(t)
		if err := os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	s.run("initdb", "--pgdata", filepath.Join(dir, "data"), "--username", "postgres",
		"--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
	s.Launch()
	t.Cleanup(func() {
		if s.cmd != nil {
			s.Stop()
		}
	})
	return s
}

// binaries is the directory of the newest installed server, "" if there is none.
func binaries() string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return ""
	}
	version := func(p string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p)))) // not a number: the oldest
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

// unprivileged is who runs the server when we are root, whom it refuses.
func unprivileged(t testing.TB) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	t.Fatal("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
	return nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	// The server outlives the test's context by its own clean-up.
	c := exec.CommandContext(context.WithoutCancel(s.t.Context()), filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"}
	// A test that is killed takes its server with it.
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGQUIT}
	return c
}

func (s *Server) run(name string, args ...string) {
	s.t.Helper()
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Launch starts the server again after Stop or Crash, on the same data and socket.
func (s *Server) Launch() {
	s.t.Helper()
	s.cmd = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-k", s.dir,
		"-h", "", "-p", port,
		"-c", fmt.Sprintf("fsync=%t", s.fsync), "-c", "max_connections=200", "-c", "shared_buffers=32MB")
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	s.ended = ended
	go func(cmd *exec.Cmd) {
		ended <- cmd.Wait()
		_ = log.Close() // the process has its own copy
	}(s.cmd)
	s.await()
}

func (s *Server) await() {
	s.t.Helper()
	deadline := time.Now().Add(startLimit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := s.command("pg_isready", "-h", s.dir, "-p", port).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case err := <-s.ended:
			s.t.Fatalf("postgres ended: %v\n%s", err, s.log())
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("postgres does not answer: %s\n%s", out, s.log())
		}
	}
}

func (s *Server) log() string {
	b, err := fs.ReadFile(os.DirFS(s.dir), "log")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Stop ends the server as a package upgrade would: connections are closed, data is
// written.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Crash ends the server at once; it recovers from its log when launched again.
func (s *Server) Crash() { s.end(syscall.SIGQUIT) }

func (s *Server) end(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Errorf("end postgres: %v", err)
	}
	select {
	case err := <-s.ended:
		s.t.Log("postgres ended", err) // a crash that was asked for is not an error
	case <-time.After(startLimit):
		_ = s.cmd.Process.Kill() // the error to tell is that it did not stop
		s.t.Errorf("postgres does not stop\n%s", s.log())
	}
	s.cmd = nil
}

// URL makes an empty database and returns its address, by the socket.
func (s *Server) URL() string {
	s.t.Helper()
	s.databases++
	name := "test" + strconv.Itoa(s.databases)
	s.run("createdb", "-h", s.dir, "-p", port, "-U", "postgres", name)
	q := url.Values{"host": {s.dir}, "port": {port}, "sslmode": {"disable"}}
	return "postgres://postgres@/" + name + "?" + q.Encode()
}
