package directory

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
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
	c, err := CopyOut(here, "/tmp/data/", archiveOf(t, tree...))
	if err != nil || c.Files != 1 || c.LeftOut != 3 || c.To != filepath.Join(here, "data") {
		t.Errorf("got %+v and %v", c, err)
	}
	if got := listed(t, here); got != "data data/b data/c data/sub data/sub/a" {
		t.Errorf("got %s", got)
	}
	if _, err := CopyOut(filepath.Join(here, "other"), "data", archiveOf(t, tree...)); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(here, "other/b")); err != nil || string(b) != "content of data/sub/a" {
		t.Errorf("got %q and %v", b, err)
	}
	if _, err := CopyOut(filepath.Join(here, "renamed"), "a", archiveOf(t, file("a"))); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(here, "renamed")); err != nil || string(b) != "content of a" {
		t.Errorf("got %q and %v", b, err)
	}
	if _, err := CopyOut(filepath.Join(here, "none/renamed"), "a", archiveOf(t, file("a"))); !errors.Is(err, fs.ErrNotExist) {
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
		"another name":     {file(".bashrc")},
		"within a file":    {file("d"), file("d/x")},
		"links upwards":    {dir("d/"), dir("d/x/y/"), link("d/x/y/up", "../.."), link("d/x/l", "y/up/.."), file("d/x/l/x")},
		"a link as a file": {link("d", "."), file("d/x")},
		"hard link above":  {dir("d/"), dir("d/x/y/"), link("d/x/y/up", "../.."), link("d/x/l", "y/up/.."), {Name: "d/f", Linkname: "d/x/l/mine", Typeflag: tar.TypeLink}, file("d/f")},
		"hard link":        {dir("d/"), {Name: "d/l", Linkname: "../secret", Typeflag: tar.TypeLink}},
	} {
		outer := t.TempDir()
		here := filepath.Join(outer, "here")
		mine := filepath.Join(here, "mine")
		if err := errors.Join(os.Mkdir(here, 0o755), os.WriteFile(filepath.Join(outer, "secret"), nil, 0o600), os.WriteFile(mine, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := CopyOut(here, "work/d", archiveOf(t, entries...))
		t.Log(name, err)
		if got := strings.Fields(listed(t, outer)); strings.Join(got, " ") != strings.Join(append([]string{"here"}, append(below(got, "here/d"), "here/mine", "secret")...), " ") {
			t.Errorf("%s: got %v", name, got)
		}
		if b, err := os.ReadFile(mine); err != nil || string(b) != "mine" {
			t.Errorf("%s: a file beside the copy is %q, %v", name, b, err)
		}
	}
	// A link that is here already leads nowhere else.
	outer := t.TempDir()
	here := filepath.Join(outer, "here")
	if err := errors.Join(os.MkdirAll(filepath.Join(here, "d"), 0o755), os.Symlink(outer, filepath.Join(here, "d/l"))); err != nil {
		t.Fatal(err)
	}
	if _, err := CopyOut(here, "d", archiveOf(t, dir("d/"), file("d/l/x"))); err == nil {
		t.Error("wrote through a link")
	}
	if _, err := os.Stat(filepath.Join(outer, "x")); err == nil {
		t.Error("wrote elsewhere")
	}
}

func TestCopyOutOfTheWorkDirectory(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	c, err := CopyOut(here, ".", archiveOf(t, dir("./"), dir("./sub/"), file("./sub/a"), link("./b", "sub/a"), link("./up", "..")))
	if got := listed(t, here); err != nil || got != "b sub sub/a" || c.LeftOut != 1 {
		t.Errorf("got %s, %+v and %v", got, c, err)
	}
}

func TestCopyOutLeavesOutLinksThatLeadElsewhereByOthers(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	c, err := CopyOut(here, "d", archiveOf(t, dir("d/"), dir("d/x/y/"), link("d/x/y/up", "../.."), link("d/x/l", "y/up/.."), link("d/x/later", "z")))
	if got := listed(t, here); err != nil || got != "d d/x d/x/later d/x/y d/x/y/up" || c.LeftOut != 1 {
		t.Errorf("got %s, %+v and %v", got, c, err)
	}
}

// A few hundred bytes describe a file of 10 GB.
func TestCopyOutLeavesOutSparseFiles(t *testing.T) {
	t.Parallel()
	const hole = "1\n10737418240\n0\n"
	var b bytes.Buffer
	for _, part := range []struct {
		kind    byte
		name    string
		content string
	}{
		{tar.TypeXHeader, "PaxHeaders/d", "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n35 GNU.sparse.realsize=10737418240\n23 GNU.sparse.name=d/f\n"},
		{tar.TypeReg, "d/f", hole + strings.Repeat("\x00", 512-len(hole))},
	} {
		b.Write(rawHeader(part.kind, part.name, len(part.content)))
		b.WriteString(part.content + strings.Repeat("\x00", -len(part.content)&511))
	}
	b.Write(make([]byte, 1024))
	here := t.TempDir()
	c, err := CopyOut(here, "d", &b)
	if got := listed(t, here); err != nil || c.LeftOut != 1 || c.Files != 0 || got != "d" {
		t.Errorf("got %s, %+v and %v", got, c, err)
	}
}

// rawHeader returns a header that archive/tar would not write.
func rawHeader(kind byte, name string, size int) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], "0000644\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00", size))
	copy(h[136:], "00000000000\x00")
	copy(h[148:], "        ")
	h[156] = kind
	copy(h[257:], "ustar\x0000")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
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
