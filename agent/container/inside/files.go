package inside

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream"
)

// Files are packed and unpacked by the container's own tar, which runs as the container's user: it
// reads and writes what that user may, wherever links lead. An agent or an engine would do it with the
// rights of root, also in directories of the machine that are mounted.

// Exec starts a program inside a container, without a terminal.
type Exec func(ctx context.Context, argv ...string) (stream.Process, error)

// Exit codes of the scripts below, and of a shell that does not find a program.
const (
	codeMissing   = 66
	codeForbidden = 77
	codeNotRun    = 126
	codeNoProgram = 127
)

const (
	readScript = `[ -e "$1" ] || [ -L "$1" ] || exit 66
[ -r "$1" ] || [ -L "$1" ] || exit 77
command -v tar >/dev/null || exit 127
exec tar -cf - -C "$2" -- "$3"`
	// Without -o the files would belong to the users of the archive if the container's user is root.
	writeScript = `[ -d "$1" ] || exit 66
[ -w "$1" ] && [ -x "$1" ] || exit 77
command -v tar >/dev/null || exit 127
exec tar -xpof - -C "$1"`
)

// ReadFiles returns a tar archive of a path. The context ends the transfer.
func ReadFiles(ctx context.Context, exec Exec, name string) (io.ReadCloser, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	dir, base := path.Split(path.Clean(name))
	if base == "" || base == "." || base == ".." { // it has no name of its own
		dir, base = name, "."
	}
	p, err := exec(ctx, "/bin/sh", "-c", readScript, "read", dashed(name), dashed(dir), base)
	if err != nil {
		return nil, err
	}
	r := &reading{program: watch(p, name, "pack"), from: bufio.NewReader(p.Stdout()), canceled: ctx.Err}
	r.stop = context.AfterFunc(ctx, func() { _ = p.Close() })
	_ = p.CloseWrite() // tar reads nothing
	if _, err := r.from.Peek(1); err != nil {
		return nil, errors.Join(cmp.Or(ctx.Err(), r.outcome(), err), r.Close())
	}
	return r, nil
}

// dashed returns a path that no program takes for an option.
func dashed(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return "./" + name
}

// pathMost is Linux's maximum length of a path.
const pathMost = 4096

func checkPath(name string) error {
	if name == "" || len(name) > pathMost || strings.Contains(name, "\x00") {
		return &container.PathError{Path: fmt.Sprintf("%.100q", name), Err: errors.New("must be a path of at most 4096 bytes")}
	}
	return nil
}

// reading is an archive that tar writes.
type reading struct {
	program

	from     *bufio.Reader
	canceled func() error
	stop     func() bool
}

// Read returns an error instead of the end if tar did not pack everything.
func (r *reading) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err == nil || !errors.Is(err, io.EOF) {
		return n, err
	}
	return n, cmp.Or(r.canceled(), r.outcome(), io.EOF)
}

// Close ends tar.
func (r *reading) Close() error {
	r.stop()
	return r.process.Close()
}

// WriteFiles unpacks an archive into a directory. It may read from archive until that ends, also after
// an error.
func WriteFiles(ctx context.Context, exec Exec, dir string, archive io.Reader) error {
	if err := checkPath(dir); err != nil {
		return err
	}
	p, err := exec(ctx, "/bin/sh", "-c", writeScript, "write", dashed(dir))
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	defer context.AfterFunc(ctx, func() { _ = p.Close() })()
	w := watch(p, dir, "unpack")
	go func() { _, _ = io.Copy(io.Discard, p.Stdout()) }()
	broken := make(chan error, 1)
	go func() {
		from := source{Reader: archive}
		_, _ = io.Copy(p, &from) // it cannot write if tar has ended, which says why
		broken <- from.err
		if from.err != nil {
			_ = p.Close()
		}
		_ = p.CloseWrite()
	}()
	err = w.outcome()
	select {
	case unread := <-broken:
		if unread != nil {
			err = fmt.Errorf("read the archive: %w", unread)
		}
	default:
	}
	return cmp.Or(ctx.Err(), err)
}

// source keeps the error of a reader.
type source struct {
	io.Reader

	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// program is a running tar.
type program struct {
	process stream.Process
	path    string
	does    string
	// said receives the beginning of its error output.
	said chan string
}

// saidMost is how much of tar's messages is kept.
const saidMost = 1 << 10

// watch reads the error output of a program.
func watch(p stream.Process, name, does string) program {
	said := make(chan string, 1)
	go func() {
		begin, _ := io.ReadAll(io.LimitReader(p.Stderr(), saidMost))
		_, _ = io.Copy(io.Discard, p.Stderr())
		said <- string(begin)
	}()
	return program{process: p, path: name, does: does, said: said}
}

// outcome waits for the end of the program and returns why it failed.
func (p program) outcome() error {
	code, err := p.process.Wait()
	if err != nil {
		return err
	}
	said := <-p.said
	p.said <- said
	switch {
	case code == 0, code == 1 && strings.Contains(said, "as we read it"): // a file that is being written
		return nil
	case code == codeMissing:
		return &container.PathError{Path: p.path, Err: fs.ErrNotExist}
	case code == codeForbidden:
		return &container.PathError{Path: p.path, Err: fs.ErrPermission}
	case code == codeNoProgram:
		return errors.New("the container has no tar, which copies its files; install it in the image")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	if first == "" {
		first = fmt.Sprintf("tar ended with code %d", code)
	}
	if isFull(said) {
		return fmt.Errorf("%s %s: %w (%s)", p.does, p.path, unix.ENOSPC, first)
	}
	return fmt.Errorf("%s %s: %s", p.does, p.path, first)
}

// isFull reports whether messages of tar are about a full disk. GNU's and BusyBox's do not mention the
// reason if the last block fits in part.
func isFull(said string) bool {
	return slices.ContainsFunc([]string{"No space left on device", "Wrote only ", "short write"}, func(part string) bool {
		return strings.Contains(said, part)
	})
}
