// Package postgrestest starts a private PostgreSQL for a test, from the binaries of the system's
// packages. Only tests may import it.
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

// startLimit limits the time until a server answers; a busy two-core machine needs one or two
// seconds.
const startLimit = 60 * time.Second

// port names the socket in its directory; the server has no other address.
const port = "5432"

// Options changes the defaults of the server.
type Options struct {
	// Fsync makes the server wait for the disk, like a real one. Tests that do not simulate a power
	// failure are equivalent without it, and faster.
	Fsync bool
}

// Server is a running PostgreSQL that listens on a Unix socket.
type Server struct {
	t         testing.TB
	bin       string
	dir       string // data, log and socket
	fsync     bool
	cred      *syscall.Credential // nil unless we are root
	cmd       *exec.Cmd
	ended     chan error
	databases int
}

// Start starts a server that is stopped at the end of the test. It skips the test with -short, and
// if PostgreSQL is not installed; with CI=true a missing PostgreSQL fails the test.
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
	// Not t.TempDir: the path of a socket has at most 107 bytes and must be accessible to the
	// server's user.
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover temporary directory is harmless
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

// binaries returns the directory of the newest installed server. It returns "" if no server is
// installed.
func binaries() string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return ""
	}
	version := func(p string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p)))) // not a number sorts as the oldest
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

// unprivileged returns the user of the server if we are root, because it refuses to run as root.
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
	// The server is stopped by its own clean-up, after the test's context has ended.
	c := exec.CommandContext(context.WithoutCancel(s.t.Context()), filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC"}
	// The server is stopped when the test process is killed.
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGQUIT}
	return c
}

func (s *Server) run(name string, args ...string) {
	s.t.Helper()
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Launch starts the server again after Stop or Crash, with the same data and socket.
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

// Stop ends the server like a package upgrade: it closes connections and writes all data.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Crash ends the server immediately; it recovers from its log when it is launched again.
func (s *Server) Crash() { s.end(syscall.SIGQUIT) }

func (s *Server) end(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Errorf("end postgres: %v", err)
	}
	select {
	case err := <-s.ended:
		s.t.Log("postgres ended", err) // after Crash this is not an error
	case <-time.After(startLimit):
		_ = s.cmd.Process.Kill() // the error to report is that it did not stop
		s.t.Errorf("postgres does not stop\n%s", s.log())
	}
	s.cmd = nil
}

// URL creates an empty database and returns its address, with the socket.
func (s *Server) URL() string {
	s.t.Helper()
	s.databases++
	name := "test" + strconv.Itoa(s.databases)
	s.run("createdb", "-h", s.dir, "-p", port, "-U", "postgres", name)
	q := url.Values{"host": {s.dir}, "port": {port}, "sslmode": {"disable"}}
	return "postgres://postgres@/" + name + "?" + q.Encode()
}
