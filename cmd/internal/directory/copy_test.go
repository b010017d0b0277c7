package directory

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archiveOf returns an archive. An entry with a content is a file, and other ones have the given type.
func archiveOf(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = "content of " + h.Name
		}
		h.Size, h.Mode = int64(len(content)), 0o640
		if h.Typeflag == tar.TypeDir {
			h.Mode = 0o500
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, content)
	}
	_ = w.Close()
	return &b
}

func file(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
func dir(name string) tar.Header  { return tar.Header{Name: name, Typeflag: tar.TypeDir} }
func link(name, to string) tar.Header {
	return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
}

// listed returns all paths below a directory.
func listed(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, p); rel != "." {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestCopyOut(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	tree := []tar.Header{dir("data/"), dir("data/sub/"), file("data/sub/a"), link("data/b", "sub/a"), link("data/evil", "/etc/passwd"), link("data/up", "../.."), {Name: "data/c", Linkname: "data/sub/a", Typeflag: tar.TypeLink}, {Name: "data/tty", Typeflag: tar.TypeChar}}
	c, err := CopyOut(here, archiveOf(t, tree...))
	if err != nil || c.Files != 1 || c.LeftOut != 3 || c.To != filepath.Join(here, "data") {
		t.Errorf("got %+v and %v", c, err)
	}
	if got := listed(t, here); got != "data data/b data/c data/sub data/sub/a" {
		t.Errorf("got %s", got)
	}
	if _, err := CopyOut(filepath.Join(here, "other"), archiveOf(t, tree...)); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(here, "other/b")); err != nil || string(b) != "content of data/sub/a" {
		t.Errorf("got %q and %v", b, err)
	}
	if _, err := CopyOut(filepath.Join(here, "renamed"), archiveOf(t, file("a"))); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(here, "renamed")); err != nil || string(b) != "content of a" {
		t.Errorf("got %q and %v", b, err)
	}
	if _, err := CopyOut(filepath.Join(here, "none/renamed"), archiveOf(t, file("a"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// An archive of a task writes nothing elsewhere.
func TestCopyOutOfAHostileTask(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]tar.Header{
		"above":            {file("../x")},
		"above from below": {dir("d/"), file("d/../../x")},
		"another one":      {dir("d/"), file("x")},
		"absolute":         {dir("d/"), file("/x")},
		"through a link":   {dir("d/"), link("d/l", ".."), file("d/l/../x")},
		"hard link":        {dir("d/"), {Name: "d/l", Linkname: "../secret", Typeflag: tar.TypeLink}},
	} {
		outer := t.TempDir()
		here := filepath.Join(outer, "here")
		if err := errors.Join(os.Mkdir(here, 0o755), os.WriteFile(filepath.Join(outer, "secret"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := CopyOut(here, archiveOf(t, entries...))
		t.Log(name, err)
		if got := strings.Fields(listed(t, outer)); strings.Join(got, " ") != strings.Join(append([]string{"here"}, append(below(got, "here/d"), "secret")...), " ") {
			t.Errorf("%s: got %v", name, got)
		}
	}
	// A link that is here already leads nowhere else.
	outer := t.TempDir()
	here := filepath.Join(outer, "here")
	if err := errors.Join(os.MkdirAll(filepath.Join(here, "d"), 0o755), os.Symlink(outer, filepath.Join(here, "d/l"))); err != nil {
		t.Fatal(err)
	}
	if _, err := CopyOut(here, archiveOf(t, dir("d/"), file("d/l/x"))); err == nil {
		t.Error("wrote through a link")
	}
	if _, err := os.Stat(filepath.Join(outer, "x")); err == nil {
		t.Error("wrote elsewhere")
	}
}

func below(names []string, prefix string) (out []string) {
	for _, n := range names {
		if n == prefix || strings.HasPrefix(n, prefix+"/") {
			out = append(out, n)
		}
	}
	return out
}

func TestCopyIn(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(here, "data/sub"), 0o755), os.WriteFile(filepath.Join(here, "data/sub/a"), []byte("hello"), 0o640), os.Symlink("sub/a", filepath.Join(here, "data/l"))); err != nil {
		t.Fatal(err)
	}
	archive, sent := CopyIn(filepath.Join(here, "data"), "renamed")
	var names []string
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "renamed/ renamed/l renamed/sub/ renamed/sub/a" {
		t.Errorf("got %s", got)
	}
	_, _ = io.Copy(io.Discard, archive)
	if c, err := sent(); err != nil || c.Files != 1 || c.Bytes != 5 {
		t.Errorf("got %+v and %v", c, err)
	}
	archive, sent = CopyIn(filepath.Join(here, "none"), "x")
	if _, err := io.ReadAll(archive); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := sent(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	// A reader that leaves does not keep anything.
	archive, sent = CopyIn(filepath.Join(here, "data"), "x")
	_ = archive.Close()
	if _, err := sent(); err != nil {
		t.Error(err)
	}
}
