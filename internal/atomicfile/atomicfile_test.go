package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAWriteReplacesContentAndMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for _, want := range []struct {
		write func(string, []byte, fs.FileMode) error
		text  string
		mode  fs.FileMode
	}{{Write, "first", 0o600}, {Write, "second", 0o644}, {WriteUnsynced, "third", 0o755}} {
		if err := want.write(path, []byte(want.text), want.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != want.text || info.Mode() != want.mode {
			t.Errorf("got %q %v, want %q %v", got, info.Mode(), want.text, want.mode)
		}
	}
	onlyThese(t, filepath.Dir(path), "f")
}

func TestWritersOfOneFileDoNotMixTheirContents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := WriteUnsynced(path, []byte(strings.Repeat(string(rune('a'+i)), 100_000)), 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := read(t, path)
	if len(got) != 100_000 || strings.Trim(got, got[:1]) != "" {
		t.Errorf("got a mixture of %d bytes", len(got))
	}
	onlyThese(t, filepath.Dir(path), "f")
}

func TestRejectedWriteKeepsFileAndReportsPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken") // a directory that is not empty cannot be replaced
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "no", "f")
	for path, want := range map[string]error{missing: fs.ErrNotExist, taken: nil} {
		err := Write(path, []byte("x"), 0o600)
		if err == nil || !strings.HasPrefix(err.Error(), "write "+path+": ") || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	onlyThese(t, dir, "taken")
}

func TestPendingFileAppearsOnCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for _, commit := range []bool{false, true} {
		p, err := Create(path, 0o700)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write([]byte("whole")); err != nil {
			t.Fatal(err)
		}
		if err := p.Finish(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || read(t, p.Name()) != "whole" {
			t.Errorf("before the commit: got %v, and %q", err, read(t, p.Name()))
		}
		if commit {
			if err := p.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		p.Discard()
	}
	if got := read(t, path); got != "whole" {
		t.Errorf("got %q", got)
	}
	onlyThese(t, filepath.Dir(path), "f")
}

func TestLeftoversOfKilledWriterAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-2 * leftAlone)
	for name, at := range map[string]time.Time{".f.123": old, ".f.456": time.Now(), ".f.1x": old, ".f.g.123": old} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	onlyThese(t, dir, ".f.1x", ".f.456", ".f.g.123", "f")
}

func TestLinkReplacesExisting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "current")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		if err := Link(want, path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(path); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	onlyThese(t, dir, "current")
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func onlyThese(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
}
