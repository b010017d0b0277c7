package task

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Limits of a context directory, in bytes and entries. The master has lower ones; these prevent a
// malformed archive from filling the disk.
const (
	maxContextBytes   = 64 << 30
	maxContextEntries = 200_000
)

// contextFiles are the files of a task. Their contents are in a file without a name, so that they take
// no memory, and no disk space after the agent was killed.
type contextFiles struct {
	list  []container.File
	spool *os.File
}

func newContextFiles(temp string) (*contextFiles, error) {
	f, err := os.CreateTemp(temp, ".context-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &contextFiles{spool: f}, nil
}

// Close makes the contents of the files invalid.
func (c *contextFiles) Close() error { return c.spool.Close() }

// contextSource locates the files of a task.
type contextSource struct {
	Client *http.Client
	// Master is the master's URL, without a path.
	Master string
	Task   string
	// Token is the token of the allocation.
	Token string
}

// awayError is a temporary failure: the master did not answer, or may answer later.
type awayError struct{ error }

// Unwrap returns the cause.
func (e awayError) Unwrap() error { return e.error }

// fetchContext downloads the files of a task from the master into c, with paths below dir. It returns an
// awayError if the request should be retried.
func (c *contextFiles) fetchContext(ctx context.Context, s contextSource, dir string) error {
	address := s.Master + "/api/v1/tasks/" + url.PathEscape(s.Task) + "/context_directory"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+s.Token)
	resp, err := s.Client.Do(req)
	if err != nil {
		return awayError{err}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
		if err != nil {
			return awayError{fmt.Errorf("read %s: %w", address, err)}
		}
		return refusedFiles(resp, fmt.Errorf("get %s: %s: %.200s", address, resp.Status, body))
	}
	body := &watchedBody{from: resp.Body}
	archive, err := agentv1.ContextArchive(body)
	if err == nil && archive != nil {
		err = c.unpackContext(archive, dir)
	}
	if err == nil {
		return nil
	}
	_, _ = io.CopyN(io.Discard, body, 1<<20) // body has the error
	if body.err != nil {
		return awayError{fmt.Errorf("read %s: %w", address, body.err)}
	}
	return fmt.Errorf("read %s: %w", address, err)
}

// watchedBody keeps the error of a connection, so that it is not taken for a damaged archive.
type watchedBody struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (w *watchedBody) Read(b []byte) (int, error) {
	n, err := w.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// refusedFiles classifies a response without files. The statuses of a server that is starting,
// stopping or overloaded become an awayError. An internal error (500) fails the container.
func refusedFiles(resp *http.Response, err error) error {
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return awayError{err}
	}
	return err
}

// unpackContext reads a gzipped tar archive into files below dir, in place of earlier ones.
func (c *contextFiles) unpackContext(r io.Reader, dir string) error {
	z, err := gzip.NewReader(r)
	if err == nil {
		_, err = c.spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("unpack context directory: %w", err)
	}
	archive := tar.NewReader(z)
	c.list = nil
	at := int64(0)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack context directory: %w", err)
		}
		if len(c.list) >= maxContextEntries || h.Size > maxContextBytes-at {
			return fmt.Errorf("unpack context directory: more than %d files or %d bytes", maxContextEntries, int64(maxContextBytes))
		}
		f, skip, err := readEntry(h, dir)
		if err == nil && h.Typeflag == tar.TypeReg {
			_, err = io.Copy(c.spool, archive)
			f.Body = io.NewSectionReader(c.spool, at, h.Size)
			at += h.Size
		}
		if err != nil {
			return fmt.Errorf("unpack context directory: %q: %w", h.Name, err)
		}
		if !skip {
			c.list = append(c.list, f)
		}
	}
}

func readEntry(h *tar.Header, dir string) (f container.File, skip bool, err error) {
	name := path.Clean(h.Name)
	if !isLocalPath(name) {
		return f, false, errors.New("the path is outside of the work directory")
	}
	f = container.File{
		Path: path.Join(dir, name), Mode: uint32(h.Mode & 0o777),
		UID: h.Uid, GID: h.Gid, ModTime: h.ModTime,
	}
	switch h.Typeflag {
	case tar.TypeDir:
		f.Dir = true
		return f, name == ".", nil
	case tar.TypeReg:
		return f, false, nil
	case tar.TypeSymlink:
		if path.IsAbs(h.Linkname) || !isLocalPath(path.Join(path.Dir(name), h.Linkname)) {
			return f, false, fmt.Errorf("the link to %q is outside of the work directory", h.Linkname)
		}
		f.Link = h.Linkname
		return f, false, nil
	case tar.TypeXGlobalHeader:
		return f, true, nil
	default:
		return f, false, fmt.Errorf("unsupported type %q; only files, directories and symbolic links are allowed", h.Typeflag)
	}
}

// isLocalPath reports whether a clean path stays below its starting directory.
func isLocalPath(name string) bool {
	return name != ".." && !path.IsAbs(name) && !strings.HasPrefix(name, "../")
}

// restartTime is how long the master may be away before the task's log mentions it.
const restartTime = 30 * time.Second

// fetchFiles retries until the master answers or ctx ends, because a restart of the master must not
// fail a container. The caller closes the files.
func (u *Task) fetchFiles(ctx context.Context) (*contextFiles, error) {
	dir := u.Order.GetSpec().GetWorkDir()
	if dir == "" {
		return nil, errors.New("the order has a context directory but no work_dir")
	}
	files, err := newContextFiles(u.cfg.Temp)
	if err != nil {
		return nil, err
	}
	if err := u.fetchInto(ctx, files, dir); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return files, nil
}

func (u *Task) fetchInto(ctx context.Context, files *contextFiles, dir string) error {
	from := contextSource{
		Client: u.cfg.Client, Master: u.cfg.Master, Task: u.Order.GetTaskId(), Token: u.Order.GetSpec().GetSessionToken(),
	}
	began, told := time.Now(), false
	for {
		err := files.fetchContext(ctx, from, dir)
		if _, away := errors.AsType[awayError](err); !away || ctx.Err() != nil {
			return err
		}
		u.Log.Warn("cannot fetch the files of a task; retrying", "err", err)
		if !told && time.Since(began) > restartTime {
			told = true
			u.logNote("cannot fetch the files of this task; retrying: " + err.Error())
		}
		if err := wait.For(ctx, retryPause); err != nil {
			return err
		}
	}
}
