package task

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Limits of a context directory, in bytes and entries. Clients send at most 95 MB of files; the
// limits are higher, and prevent a malformed archive from exhausting the agent's memory.
const (
	maxPacked         = 256 << 20
	maxContextBytes   = 512 << 20
	maxContextEntries = 200_000
)

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

// fetchContext downloads the files of a task from the master, with paths below dir. It returns an
// awayError if the request should be retried.
func fetchContext(ctx context.Context, s contextSource, dir string) ([]container.File, error) {
	address := s.Master + "/api/v1/tasks/" + url.PathEscape(s.Task) + "/context_directory"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+s.Token)
	resp, err := s.Client.Do(req)
	if err != nil {
		return nil, awayError{err}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPacked+1))
	if err != nil {
		return nil, awayError{fmt.Errorf("read %s: %w", address, err)}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusedFiles(resp, fmt.Errorf("get %s: %s: %.200s", address, resp.Status, body))
	}
	if len(body) > maxPacked {
		return nil, fmt.Errorf("get %s: the response is larger than %d bytes", address, maxPacked)
	}
	var answer struct {
		B64Tgz string `json:"b64Tgz"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read %s: %w", address, err)
	}
	if answer.B64Tgz == "" {
		return nil, nil
	}
	return unpackContext(base64.NewDecoder(base64.StdEncoding, strings.NewReader(answer.B64Tgz)), dir)
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

// unpackContext reads a gzipped tar archive into files below dir.
func unpackContext(r io.Reader, dir string) ([]container.File, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("unpack context directory: %w", err)
	}
	archive := tar.NewReader(z)
	var out []container.File
	left := int64(maxContextBytes)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("unpack context directory: %w", err)
		}
		if len(out) >= maxContextEntries || h.Size > left {
			return nil, fmt.Errorf("unpack context directory: more than %d files or %d bytes", maxContextEntries, maxContextBytes)
		}
		left -= h.Size
		f, skip, err := readEntry(h, archive, dir)
		if err != nil {
			return nil, fmt.Errorf("unpack context directory: %q: %w", h.Name, err)
		}
		if !skip {
			out = append(out, f)
		}
	}
}

func readEntry(h *tar.Header, r io.Reader, dir string) (f container.File, skip bool, err error) {
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
		f.Content, err = io.ReadAll(r)
		return f, false, err
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
// fail a container.
func (u *Task) fetchFiles(ctx context.Context) ([]container.File, error) {
	dir := u.Order.GetSpec().GetWorkDir()
	if dir == "" {
		return nil, errors.New("the order has a context directory but no work_dir")
	}
	from := contextSource{
		Client: u.cfg.Client, Master: u.cfg.Master, Task: u.Order.GetTaskId(), Token: u.Order.GetSpec().GetSessionToken(),
	}
	began, told := time.Now(), false
	for {
		files, err := fetchContext(ctx, from, dir)
		if _, away := errors.AsType[awayError](err); !away || ctx.Err() != nil {
			return files, err
		}
		u.Log.Warn("cannot fetch the files of a task; retrying", "err", err)
		if !told && time.Since(began) > restartTime {
			told = true
			u.logNote("cannot fetch the files of this task; retrying: " + err.Error())
		}
		if err := wait.For(ctx, retryPause); err != nil {
			return nil, err
		}
	}
}
