package postgrestest

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Freeze suspends the server and all its processes, like a hanging machine: connections stay open
// and nothing answers. Thaw or the end of the test resumes them.
func (s *Server) Freeze() {
	s.t.Helper()
	s.t.Cleanup(s.Thaw)
	s.signalAll(syscall.SIGSTOP)
}

// Thaw resumes the server after Freeze.
func (s *Server) Thaw() { s.signalAll(syscall.SIGCONT) }

// signalAll signals the server's main process first: while suspended it starts no other.
func (s *Server) signalAll(sig syscall.Signal) {
	if s.cmd == nil {
		return
	}
	parent := s.cmd.Process.Pid
	_ = syscall.Kill(parent, sig) // it may have exited, which the test will notice
	for _, child := range children(s.t, parent) {
		_ = syscall.Kill(child, sig) // likewise
	}
}

func children(t testing.TB, parent int) []int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, name := range found {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has exited meanwhile
		}
		// PID (NAME) STATE PARENT …, where the name may contain any character
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			out = append(out, pid)
		}
	}
	return out
}

// SmallURL is like URL for a database with its tables on a disk of room bytes.
func (s *Server) SmallURL(room int) (address string, disk Disk) {
	s.t.Helper()
	disk = NewDisk(s.t, room)
	dir := filepath.Join(string(disk), "tables")
	if err := os.Mkdir(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if s.cred != nil {
		if err := os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			s.t.Fatal(err)
		}
	}
	u, err := url.Parse(s.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	at := []string{"-h", s.dir, "-p", port, "-U", "postgres"}
	s.run("psql", append(at, "-d", "postgres", "-c", "CREATE TABLESPACE small LOCATION '"+dir+"'")...)
	s.run("psql", append(at, "-d", "postgres", "-c", "ALTER DATABASE "+name+" SET TABLESPACE small")...)
	return u.String(), disk
}

// Disk is the directory of a small file system that can be filled.
type Disk string

// NewDisk mounts a file system in memory until the test ends. It skips the test unless the user is
// root.
func NewDisk(t testing.TB, room int) Disk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a small disk is mounted, which only root may")
	}
	removeOldDisks()
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", diskPrefix, os.Getpid())) //nolint:usetesting // open to the user that a database runs as
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover temporary directory is harmless
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,size="+strconv.Itoa(room)); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return Disk(dir)
}

// diskPrefix is followed by the PID of the process that created the disk.
const diskPrefix = "det-deploy-disk-"

// removeOldDisks unmounts the disks of killed tests.
func removeOldDisks() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), diskPrefix+"*")) // the pattern is valid
	for _, dir := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), diskPrefix), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		_ = syscall.Unmount(dir, syscall.MNT_DETACH) // it may not be mounted yet
		_ = os.Remove(dir)                           // a leftover temporary directory is harmless
	}
}

// Fill uses all free space; Free releases it.
func (d Disk) Fill(t testing.TB) {
	t.Helper()
	f, err := os.Create(d.filler())
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(f, zeros{}) // until the disk is full
	t.Logf("filled %s: %v", d, err)
	_ = f.Close() // its content does not matter
}

// Free releases the space that Fill used.
func (d Disk) Free(t testing.TB) {
	t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		t.Fatal(err)
	}
}

func (d Disk) filler() string { return filepath.Join(string(d), "filler") }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
