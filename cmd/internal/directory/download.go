package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// Remote is a set of files to download.
type Remote struct {
	// ID identifies their content.
	ID string
	// Sizes are the sizes of the files in bytes, by path.
	Sizes map[string]int64
	// Open opens a file at an offset.
	Open func(ctx context.Context, name string, offset int64) (io.ReadCloser, error)
	// Progress is called with the number of bytes that are new. It may be called concurrently.
	Progress func(more int64)
}

const (
	// openFiles is the number of files that are downloaded at a time.
	openFiles = 4
	// mostBreaks is the number of interruptions of a file without a byte between them after which a
	// download fails, and breakPause the pause after one.
	mostBreaks = 5
	breakPause = time.Second
)

// PartOf returns the directory below dir for the files of an unfinished download.
func PartOf(dir, id string) string { return filepath.Join(dir, partName(id)) }

func partName(id string) string { return ".download-" + path.Base(id) }

// Download downloads files to a directory, which it creates. Existing files are replaced, all at the end:
// until then the files are in PartOf, from where a later call for the same ID continues.
func Download(ctx context.Context, dir string, r Remote) (Extracted, error) {
	var u Extracted
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return u, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return u, err
	}
	defer root.Close() //nolint:errcheck // its files are closed
	d := &download{Remote: r, root: root, part: partName(r.ID)}
	if err := d.fetchAll(ctx); err != nil {
		return u, err
	}
	for name, size := range r.Sizes {
		if err := d.moveFile(name); err != nil {
			return u, err
		}
		u.Files++
		u.Bytes += size
	}
	return u, root.RemoveAll(d.part)
}

type download struct {
	Remote

	root *os.Root
	part string
}

func (d *download) fetchAll(ctx context.Context) error {
	if err := d.root.MkdirAll(d.part, 0o755); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(openFiles)
	for name, size := range d.Sizes {
		g.Go(func() error { return d.fetchFile(ctx, name, size) })
	}
	return g.Wait()
}

// fetchFile downloads the rest of a file, and continues after interruptions.
func (d *download) fetchFile(ctx context.Context, name string, size int64) (err error) {
	f, at, err := d.openPart(name, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d.Progress(at)
	for breaks := 0; at < size; {
		n, err := d.copyRest(ctx, f, name, at, size)
		at += n
		if n > 0 {
			breaks = 0
		}
		lost, interrupted := errors.AsType[*lostError](err)
		switch breaks++; {
		case err == nil:
		case !interrupted || breaks > mostBreaks:
			return err
		default:
			if wait.For(ctx, breakPause) != nil {
				return lost
			}
		}
	}
	return nil
}

// openPart opens a file that may be downloaded in part, and returns the number of bytes that are there.
func (d *download) openPart(name string, size int64) (*os.File, int64, error) {
	to := path.Join(d.part, name)
	if err := d.root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return nil, 0, err
	}
	f, err := d.root.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, 0, err
	}
	at, err := f.Seek(0, io.SeekEnd)
	if err == nil && at > size {
		at, err = 0, errors.Join(f.Truncate(0), rewind(f))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, at, nil
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// lostError is an interruption of a download.
type lostError struct {
	name string
	err  error
}

func (e *lostError) Error() string { return fmt.Sprintf("read %s: %v", e.name, e.err) }

func (e *lostError) Unwrap() error { return e.err }

// copyRest downloads a file from an offset on, until its end or an interruption.
func (d *download) copyRest(ctx context.Context, to io.Writer, name string, at, size int64) (int64, error) {
	body, err := d.Open(ctx, name, at)
	if err != nil {
		return 0, err
	}
	from := &watched{from: body, progress: d.Progress}
	n, err := io.CopyN(to, from, size-at)
	_ = body.Close() // it was only read
	if n < size-at && from.err != nil {
		err = &lostError{name, from.err}
	}
	return n, err
}

// watched reports what is read, and keeps the error of reading.
type watched struct {
	from     io.Reader
	progress func(int64)
	err      error
}

// Read implements io.Reader.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.from.Read(b)
	w.progress(int64(n))
	if err != nil {
		w.err = err
	}
	return n, err
}

// moveFile puts a complete file in its place.
func (d *download) moveFile(name string) error {
	if dir := path.Dir(name); dir != "." {
		if err := d.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return d.root.Rename(path.Join(d.part, name), name)
}

// FilesIn returns the sizes of the files in a listing, without its directories.
func FilesIn(listing map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for name, size := range listing {
		if !strings.HasSuffix(name, "/") && fs.ValidPath(name) {
			out[name] = size
		}
	}
	return out
}
