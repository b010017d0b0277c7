package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// files serves the requests of sftp by scripts inside the container, so that they see its files as the
// user of the shell does.
type files struct {
	exec func(argv []string) (stream.Process, error)
	// opened has room for each open file.
	opened *semaphore.Weighted

	mu     sync.Mutex // guards writes
	writes map[*writing]struct{}
}

// transfer serves sftp in a session. It reports false if that cannot start.
func (s *session) transfer(ctx context.Context) bool {
	if s.started {
		return false
	}
	if !s.transfers.TryAcquire(1) {
		s.complain(fmt.Errorf("a login has at most %d sessions of sftp at once", mostTransfers))
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &files{exec: s.execIn(ctx), opened: s.opened, writes: map[*writing]struct{}{}}
	dir, err := f.run("pwd")
	if err != nil {
		s.complain(err)
		cancel()
		s.transfers.Release(1)
		return false
	}
	s.started = true
	server := sftp.NewRequestServer(newInOrder(ctx, s.channel, cancel), sftp.Handlers{FileGet: f, FilePut: f, FileCmd: f, FileList: f},
		sftp.WithStartDirectory(strings.TrimSuffix(dir, "\n")))
	go func() {
		defer s.transfers.Release(1)
		defer cancel()
		if errors.Is(server.Serve(), io.EOF) {
			_, _ = s.channel.SendRequest("exit-status", false, ssh.Marshal(exitStatus{0}))
		}
		_ = s.channel.Close() // the requests end with it
	}()
	return true
}

// take counts a file that is open until leave is called.
func (f *files) take() (leave func(), err error) {
	if !f.opened.TryAcquire(1) {
		return nil, fmt.Errorf("at most %d files can be open at once", mostFiles)
	}
	return sync.OnceFunc(func() { f.opened.Release(1) }), nil
}

// execIn returns a function that starts a program, which ends with ctx.
func (s *session) execIn(ctx context.Context) func([]string) (stream.Process, error) {
	return func(argv []string) (stream.Process, error) {
		if !s.programs.TryAcquire(1) {
			return nil, fmt.Errorf("at most %d programs can run for sftp at once", mostPrograms)
		}
		limit, cancel := context.WithTimeout(ctx, openTime)
		defer cancel()
		p, err := s.cfg.Streams().Exec(limit, s.container, stream.Program{Argv: argv})
		if err != nil {
			s.programs.Release(1)
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = p.Close() })
		return &counted{Process: p, ended: sync.OnceFunc(func() { stop(); s.programs.Release(1) })}, nil
	}
}

// counted is a process that is counted until it is closed.
type counted struct {
	stream.Process

	ended func()
}

func (c *counted) Close() error {
	defer c.ended()
	return c.Process.Close()
}

// Filecmd changes files.
func (f *files) Filecmd(r *sftp.Request) error {
	change := func(script string, args ...string) error {
		_, err := f.run(script, args...)
		return err
	}
	switch r.Method {
	case "Setstat":
		to, err := attributesOf(r)
		if err == nil {
			err = f.settle(r.Filepath)
		}
		if err != nil {
			return err
		}
		return change(setAttributes, append([]string{r.Filepath}, to...)...)
	case "Rename":
		return change(absent+`mv -- "$1" "$2"`, r.Filepath, r.Target)
	case "Rmdir":
		return change(`rmdir -- "$1"`, r.Filepath)
	case "Remove":
		return change(`rm -- "$1"`, r.Filepath)
	case "Mkdir":
		return change(`mkdir -- "$1"`, r.Filepath)
	case "Link":
		return change(absent+`ln -- "$1" "$2"`, r.Filepath, r.Target)
	case "Symlink":
		return change(absent+`ln -s -- "$1" "$2"`, r.Filepath, r.Target)
	}
	return sftp.ErrSSHFxOpUnsupported
}

// PosixRename renames a file. It replaces another file, but no directory.
func (f *files) PosixRename(r *sftp.Request) error {
	_, err := f.run(`if [ -d "$2" ]; then echo "is a directory" >&2; exit 1; fi; mv -f -- "$1" "$2"`, r.Filepath, r.Target)
	return err
}

// attributesOf returns the arguments of setAttributes. One that is empty stays as it is.
func attributesOf(r *sftp.Request) ([]string, error) {
	var mode, size, modified, owner string
	has, to := r.AttrFlags(), r.Attributes()
	if to == nil { // they are malformed
		return nil, sftp.ErrSSHFxBadMessage
	}
	if has.Permissions {
		mode = octal(to.FileMode())
	}
	if has.Size {
		size = strconv.FormatUint(to.Size, 10)
	}
	if has.Acmodtime {
		modified = "@" + strconv.FormatUint(uint64(to.Mtime), 10)
	}
	if has.UidGid {
		owner = fmt.Sprintf("%d:%d", to.UID, to.GID)
	}
	return []string{mode, size, modified, owner}, nil
}

// octal returns the permissions of a file as chmod takes them.
func octal(m fs.FileMode) string {
	bits := uint32(m.Perm())
	for bit, is := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&is != 0 {
			bits |= bit
		}
	}
	return fmt.Sprintf("%04o", bits)
}
