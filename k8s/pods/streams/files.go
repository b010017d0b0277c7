package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The scripts end with these codes before they run tar.
const (
	codeMissing = 90
	codeNoTar   = 91
)

const (
	hasTar = `command -v tar >/dev/null || exit 91; `
	// read writes "$1/$2" to stdout, and write unpacks stdin into "$1". An archive's owners are not set:
	// the files belong to the user of the container.
	read  = hasTar + `cd "$1" 2>/dev/null || exit 90; [ -e "$2" ] || [ -L "$2" ] || exit 90; echo $$; exec tar cf - -- "$2"`
	write = hasTar + `cd "$1" 2>/dev/null || exit 90; echo $$; exec tar xof -`
)

// ReadFiles returns a file or a directory of a container as a tar archive.
func (c Client) ReadFiles(ctx context.Context, to Container, name string) (io.ReadCloser, error) {
	dir, base := path.Split(path.Clean(name))
	p, err := c.startTar(ctx, to, read, cmp.Or(dir, "."), cmp.Or(base, "."))
	if err != nil {
		return nil, err
	}
	return newReading(p, name), nil
}

// startTar starts a script that ends early where it cannot run tar on a path.
func (c Client) startTar(ctx context.Context, to Container, script string, elements ...string) (*process, error) {
	p, err := c.start(ctx, to, append([]string{"/bin/sh", "-c", script, "sh"}, elements...), nil)
	ended, ok := errors.AsType[*endedError](err)
	switch {
	case ok && ended.code == codeNoTar:
		return nil, &rm.UnreachableError{Reason: "the image of the task has no tar, by which files are copied from and to pods; use an image with it"}
	case ok && ended.code == codeMissing:
		return nil, fmt.Errorf("%s: no such file or directory in the container", path.Join(elements...))
	}
	return p, err
}

// reading is the output of tar.
type reading struct {
	p    *process
	name string
	said chan string
}

func newReading(p *process, name string) *reading {
	_ = p.CloseWrite() // it reads nothing
	r := &reading{p: p, name: name, said: make(chan string, 1)}
	go func() { r.said <- readComplaint(p.err.r) }()
	return r
}

// readComplaint returns the beginning of what a program writes to its standard error.
func readComplaint(from io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(from, 4<<10)) // as much as was read
	_, _ = io.Copy(io.Discard, from)                   // lets the program continue
	return strings.TrimSpace(string(text))
}

// Read implements io.Reader. An archive that is not complete ends with an error.
func (r *reading) Read(b []byte) (int, error) {
	n, err := r.p.stdout.Read(b)
	if n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	if err := tarError(r.p, "read "+r.name, r.said); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// tarError returns the reason why tar has failed, once it has ended.
func tarError(p *process, doing string, said chan string) error {
	code, err := p.Wait()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	text := <-said
	said <- text // for a second call
	if code != 0 {
		return fmt.Errorf("%s: tar ended with exit code %d: %s", doing, code, text)
	}
	return nil
}

// Close implements io.Closer.
func (r *reading) Close() error { return r.p.Close() }

// WriteFiles unpacks a tar archive into a directory of a container.
func (c Client) WriteFiles(ctx context.Context, to Container, dir string, archive io.Reader) error {
	p, err := c.startTar(ctx, to, write, dir)
	if err != nil {
		return err
	}
	defer p.release()
	said := make(chan string, 1)
	go func() { said <- readComplaint(p.err.r) }()
	go func() { _, _ = io.Copy(io.Discard, p.stdout) }() // it prints nothing more
	_, copied := io.Copy(p, archive)
	if copied != nil && !errors.Is(copied, io.ErrClosedPipe) { // tar may end without reading everything
		return fmt.Errorf("write into %s: %w", dir, copied)
	}
	if err := p.CloseWrite(); err != nil {
		return err
	}
	return tarError(p, "write into "+dir, said)
}

var _ stream.Process = (*process)(nil)
