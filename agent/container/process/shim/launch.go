package shim

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/companion"
)

// socketSuffix ends the names of sockets.
const socketSuffix = ".sock"

// launched is a shim that was just started.
type launched struct {
	path string // of its socket
	conn *net.UnixConn
	log  companion.Log
	// said is where its words begin in the log.
	said int64
}

// launch starts a shim. The agent makes the socket and connects before there is one that
// answers, so that nothing is waited for that may not come.
func (s *Shims) launch() (launched, error) {
	out := launched{
		path: filepath.Join(s.opts.Dir, rand.Text()+socketSuffix),
		log:  companion.Log(filepath.Join(s.opts.Dir, "log")),
	}
	socket, err := listenAt(out.path)
	if err != nil {
		return out, err
	}
	defer func() { _ = socket.Close() }() // the shim has its own
	if out.conn, err = dial(out.path); err == nil {
		out.said = out.log.Size()
		args := append(append([]string{}, s.opts.Command...), "--socket", out.path)
		err = companion.Companion{Args: args, File: socket, Log: out.log}.StartAlone()
		if err == nil {
			return out, nil
		}
		_ = out.conn.Close()
	}
	_ = os.Remove(out.path) // nothing listens there
	return out, err
}

// listenAt makes a socket, which keeps its name when this process closes it.
func listenAt(path string) (*os.File, error) {
	short, dir, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make the socket %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	defer func() { _ = l.Close() }()
	return l.File()
}

func dial(path string) (*net.UnixConn, error) {
	short, dir, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return conn, nil
}

// shorten names a socket by its directory, which is open as long as the name is used: the
// kernel takes names of at most 107 bytes.
func shorten(path string) (short string, dir *os.File, err error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("open %s: %w", filepath.Dir(path), err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(path)), os.NewFile(uintptr(fd), path), nil
}
