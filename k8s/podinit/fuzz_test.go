package podinit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// listing builds an archive from one line per entry: "f name", "d name" or "l name>target".
func listing(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for line := range strings.SplitSeq(text, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		name, target, _ := strings.Cut(rest, ">")
		h := tar.Header{Name: name, Mode: 0o755, Uid: os.Getuid(), Gid: os.Getgid()}
		switch kind {
		case "f":
			h.Typeflag, h.Size = tar.TypeReg, 4
		case "d":
			h.Typeflag = tar.TypeDir
		case "l":
			h.Typeflag, h.Linkname = tar.TypeSymlink, target
		default:
			h.Typeflag, h.Linkname = tar.TypeLink, target
		}
		if w.WriteHeader(&h) == nil && h.Size > 0 {
			_, _ = w.Write([]byte("evil")) // into memory
		}
	}
	_, _ = w.Close(), z.Close() // an invalid archive is a valid input
	return b.Bytes()
}

// tree lists dir except for the directory below: names, modes, contents and link targets.
func tree(t *testing.T, dir, below string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == below {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := info.Mode().String() + " " + name
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += " " + string(content)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			line += " " + to
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fuzzed is a volume with files of the cluster, and a directory next to it.
func fuzzed(t *testing.T) (dir, work string) {
	t.Helper()
	dir = t.TempDir()
	work = filepath.Join(dir, "volume", "run", "workdir")
	for _, d := range []string{work, filepath.Join(dir, "outside")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"outside/passwd", "volume/passwd", "volume/run/passwd"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("ours"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, work
}

// For any archive, only the work directory is written, and nothing else in its volume.
func FuzzUnpack(f *testing.F) {
	f.Add("d src\nf src/train.py\nl now>src\nf now/other.py")
	f.Add("f ../passwd\nf /etc/passwd\nl out>../..\nl out>/etc")
	f.Add("l x>.\nl x/x/x/out>../../..\nf x/x/x/out/passwd")
	f.Add("l x>.\nl x/x/out>../..\nf x/x/out/passwd\nf out/run/passwd")
	f.Add("l a>b/c\nd b/c\nl a/up>..\nf a/up/up/passwd")
	f.Add("d a\nl a>.\nf a/a\nd .\nf .\nl .>.\n\nx y")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		dir, work := fuzzed(t)
		before := tree(t, dir, work)
		root, err := os.OpenRoot(filepath.Join(dir, "volume"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		into, err := workDir(root, "run/workdir")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = into.Close() }()
		for range 2 { // an interrupted attempt is repeated on its remains
			u := unpacker{root: into, uid: os.Getuid(), gid: os.Getgid()}
			_ = u.unpackArchive(bytes.NewReader(listing(text))) // an error is fine
		}
		if after := tree(t, dir, work); !slices.Equal(before, after) {
			t.Errorf("%q changed what is outside:\n%s\nwas\n%s", text, strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
	})
}

// For any response of a master, reading succeeds or fails, and the end of the archive is the end of
// the response.
func FuzzArchiveIn(f *testing.F) {
	f.Add([]byte(answer([]byte("xx"))))
	f.Add([]byte(`{"b64Tgz":""}`))
	f.Add([]byte(`{"b64Tgz": "AAAA`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := agentv1.ContextArchive(bytes.NewReader(body))
		if err != nil || r == nil {
			return
		}
		var b bytes.Buffer
		n, err := b.ReadFrom(r)
		if n > int64(len(body)) {
			t.Errorf("%d bytes of %d", n, len(body))
		}
		if err == nil && bytes.Count(body, []byte(`"`)) < 4 {
			t.Errorf("%q is taken for whole", body)
		}
	})
}
