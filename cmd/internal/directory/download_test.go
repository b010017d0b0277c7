package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// server serves files. Each of the first broken reads of a file ends after a byte.
type server struct {
	files map[string]string

	mu     sync.Mutex // guards the following fields
	broken int
	opened []string
}

var errLost = errors.New("connection reset")

func (s *server) open(_ context.Context, name string, offset int64) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, fmt.Sprint(name, " ", offset))
	rest := io.Reader(strings.NewReader(s.files[name][offset:]))
	if s.broken > 0 {
		s.broken--
		rest = io.MultiReader(io.LimitReader(rest, 1), failing{})
	}
	return io.NopCloser(rest), nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errLost }

func (s *server) remote(progress func(int64)) Remote {
	r := Remote{ID: "abc", Sizes: map[string]int64{}, Open: s.open, Progress: progress}
	for name, text := range s.files {
		r.Sizes[name] = int64(len(text))
	}
	return r
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDownloadContinuesAfterInterruptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &server{files: map[string]string{"a": "123456789", "sub/empty": ""}, broken: 8}
		var done atomic.Int64
		got, err := Download(t.Context(), dir, s.remote(func(n int64) { done.Add(n) }))
		if err != nil || got != (Extracted{Files: 2, Bytes: 9}) || done.Load() != 9 {
			t.Errorf("got %+v with progress %d, %v", got, done.Load(), err)
		}
		if d := cmp.Diff(s.files, contents(t, dir)); d != "" {
			t.Errorf("files differ (-want +got):\n%s", d)
		}
	})
}

func TestDownloadContinuesAnEarlierOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{files: map[string]string{"a": "123456789"}, broken: 1}
	_, err := Download(ctx, dir, s.remote(func(int64) { cancel() }))
	if !errors.Is(err, errLost) {
		t.Fatalf("got %v, want the interruption", err)
	}
	if d := cmp.Diff(map[string]string{".download-abc/a": "1"}, contents(t, dir)); d != "" {
		t.Errorf("after the interruption (-want +got):\n%s", d)
	}
	if _, err := Download(t.Context(), dir, s.remote(func(int64) {})); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a 0", "a 1"}, s.opened) + cmp.Diff(s.files, contents(t, dir)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDownloadStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &server{files: map[string]string{"../out": "1"}}
	if _, err := Download(t.Context(), dir, s.remote(func(int64) {})); err == nil {
		t.Error("a file outside of the directory was written")
	}
	if got := FilesIn(map[string]int64{"a": 1, "sub/": 0, "../b": 2, "/c": 3}); len(got) != 1 || got["a"] != 1 {
		t.Errorf("got %v, want only a", got)
	}
}

func TestDownloadFailsAfterManyInterruptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := Remote{ID: "abc", Sizes: map[string]int64{"a": 1}, Progress: func(int64) {}}
		r.Open = func(context.Context, string, int64) (io.ReadCloser, error) { return io.NopCloser(failing{}), nil }
		if _, err := Download(t.Context(), dir, r); !errors.Is(err, errLost) {
			t.Errorf("got %v, want the interruption", err)
		}
	})
}
