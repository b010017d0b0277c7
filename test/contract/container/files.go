package containertest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/det-deploy/det-deploy/agent/container"
)

// fileRules are the rules of copying files into and out of running containers.
var fileRules = []rule{
	{"files go in and come out as they were", bench.filesInAndOut},
	{"files inside are the container's user's", bench.filesOwner},
	{"an archive cannot leave the container's directory", bench.filesConfined},
	{"a path that is not there is a sentence", bench.filesMissing},
	{"a full disk is a sentence", bench.filesFull},
	{"an archive that breaks off is an error", bench.filesBroken},
	{"a big file passes through", bench.filesBig},
}

// archive returns an archive of headers, whose files contain their names.
func (b bench) archive(headers ...tar.Header) *bytes.Buffer {
	b.t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		body := h.Name
		if h.Typeflag != tar.TypeReg {
			body = ""
		}
		h.Size = int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			b.t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	return &out
}

// readArchive returns a line for each entry of an archive.
func (b bench) readArchive(r io.Reader) map[string]string {
	b.t.Helper()
	out := map[string]string{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			b.t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			b.t.Fatal(err)
		}
		out[strings.TrimSuffix(h.Name, "/")] = h.FileInfo().Mode().String() + " " + h.Linkname + string(body)
	}
}

// directory makes a directory in a container.
func (b bench) directory(id string) string {
	b.t.Helper()
	got := b.inside(id, "mktemp -d /tmp/contract-XXXXXX")
	dir := strings.TrimSpace(got.stdout)
	if got.code != 0 || dir == "" {
		b.t.Fatalf("got %+v", got)
	}
	after := b
	after.ctx = context.WithoutCancel(b.ctx)
	b.t.Cleanup(func() { after.inside(id, "rm -rf "+dir) })
	return dir
}

func (b bench) filesInAndOut() {
	b.start("files", "sleep 600")
	dir := b.directory("files")
	sent := []tar.Header{
		{Name: "d", Typeflag: tar.TypeDir, Mode: 0o750},
		{Name: "d/file with space", Typeflag: tar.TypeReg, Mode: 0o640},
		{Name: "d/program", Typeflag: tar.TypeReg, Mode: 0o755},
		{Name: "d/-option", Typeflag: tar.TypeReg, Mode: 0o600},
		{Name: "d/link", Typeflag: tar.TypeSymlink, Linkname: "file with space", Mode: 0o777},
		{Name: "d/nowhere", Typeflag: tar.TypeSymlink, Linkname: "/no/such", Mode: 0o777},
	}
	if err := b.entrance().WriteFiles(b.ctx, "files", dir, b.archive(sent...)); err != nil {
		b.t.Fatal(err)
	}
	for path, want := range map[string]map[string]string{
		dir + "/d": {
			"d": "drwxr-x--- ", "d/file with space": "-rw-r----- d/file with space", "d/program": "-rwxr-xr-x d/program",
			"d/-option": "-rw------- d/-option", "d/link": "Lrwxrwxrwx file with space", "d/nowhere": "Lrwxrwxrwx /no/such",
		},
		dir + "/d/":        nil, // the same
		dir + "/d/-option": {"-option": "-rw------- d/-option"},
		dir + "/d/nowhere": {"nowhere": "Lrwxrwxrwx /no/such"},
	} {
		r, err := b.entrance().ReadFiles(b.ctx, "files", path)
		if err != nil {
			b.t.Errorf("%s: %v", path, err)
			continue
		}
		got := b.readArchive(r)
		if want != nil && !maps.Equal(got, want) {
			b.t.Errorf("%s: got %q, want %q", path, got, want)
		}
		if want == nil && len(got) != len(sent) {
			b.t.Errorf("%s: got %q, want the same as without the slash", path, got)
		}
		if err := r.Close(); err != nil {
			b.t.Error(err)
		}
	}
}

func (b bench) filesOwner() {
	b.start("owner", "sleep 600")
	dir := b.directory("owner")
	err := b.entrance().WriteFiles(b.ctx, "owner", dir, b.archive(
		tar.Header{Name: "file", Typeflag: tar.TypeReg, Mode: 0o644, Uid: 1234, Gid: 4321, Uname: "daemon", Gname: "daemon"}))
	if err != nil {
		b.t.Fatal(err)
	}
	if got := b.inside("owner", "test $(stat -c %u:%g "+dir+"/file) = $(id -u):$(id -g)"); got.code != 0 {
		b.t.Errorf("got %+v, want the container's user", got)
	}
}

// filesConfined sends archives that want to write to the machine, or beside the directory.
func (b bench) filesConfined() {
	b.start("confined", "sleep 600")
	host := b.t.TempDir()
	for _, attack := range [][]tar.Header{
		{{Name: "../escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: "a/../../escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: host + "/escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: "out", Typeflag: tar.TypeSymlink, Linkname: host}, {Name: "out/escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: "up", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "up/escaped", Typeflag: tar.TypeReg, Mode: 0o644}},
		{{Name: "hard", Typeflag: tar.TypeLink, Linkname: "/etc/shadow"}},
	} {
		dir := b.directory("confined")
		err := b.entrance().WriteFiles(b.ctx, "confined", dir+"/", b.archive(attack...)) // confined or refused
		if got := b.inside("confined", "ls "+dir+"/../escaped"); got.code == 0 {
			b.t.Errorf("%s: it is beside the directory: %v", attack[len(attack)-1].Name, err)
		}
		if left, _ := os.ReadDir(host); len(left) != 0 {
			b.t.Errorf("%s: got %v on the machine, %v", attack[len(attack)-1].Name, left, err)
		}
	}
}

func (b bench) filesMissing() {
	b.start("missing", "sleep 600")
	dir := b.directory("missing")
	check := func(what string, err, want error) {
		if path, ok := errors.AsType[*container.PathError](err); !ok || want != nil && !errors.Is(err, want) {
			b.t.Errorf("%s: got %v (%T), want a PathError with %v", what, err, path, want)
		}
	}
	e := b.entrance()
	_, err := e.ReadFiles(b.ctx, "missing", dir+"/no/such")
	check("read", err, fs.ErrNotExist)
	_, err = e.ReadFiles(b.ctx, "missing", "")
	check("read of nothing", err, nil)
	check("write", e.WriteFiles(b.ctx, "missing", dir+"/no/such", b.archive()), fs.ErrNotExist)
	file := tar.Header{Name: "file", Typeflag: tar.TypeReg, Mode: 0o000}
	if err := e.WriteFiles(b.ctx, "missing", dir, b.archive(file)); err != nil {
		b.t.Fatal(err)
	}
	check("write to a file", e.WriteFiles(b.ctx, "missing", dir+"/file", b.archive()), fs.ErrNotExist)
	if b.inside("missing", "test $(id -u) = 0").code == 0 {
		return // it may read and write everything
	}
	_, err = e.ReadFiles(b.ctx, "missing", dir+"/file")
	check("read of what is forbidden", err, fs.ErrPermission)
	check("write where it is forbidden", e.WriteFiles(b.ctx, "missing", "/etc", b.archive(file)), fs.ErrPermission)
}

func (b bench) filesFull() {
	spec := b.s.Spec("full", "sleep 600")
	spec.ShmSize = 1 << 20
	b.startSpec(spec)
	if b.inside("full", `test "$(df -k /dev/shm | tail -n 1 | tr -s ' ' | cut -d ' ' -f 2)" = 1024`).code != 0 {
		b.t.Skip("this runtime has no small disk to fill")
	}
	var big bytes.Buffer
	w := tar.NewWriter(&big)
	if err := w.WriteHeader(&tar.Header{Name: "big", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4 << 20}); err != nil {
		b.t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 4<<20)); err != nil {
		b.t.Fatal(err)
	}
	err := b.entrance().WriteFiles(b.ctx, "full", "/dev/shm", &big)
	if err == nil || !strings.Contains(err.Error(), "unpack /dev/shm: ") || !strings.Contains(err.Error(), "no space left on device") {
		b.t.Errorf("got %v, want that the disk is full", err)
	}
}

// failing is a reader that ends with an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (b bench) filesBroken() {
	b.start("broken", "sleep 600")
	dir := b.directory("broken")
	whole := b.archive(tar.Header{Name: "file", Typeflag: tar.TypeReg, Mode: 0o644}).Bytes()
	errGone := errors.New("the other end is gone")
	err := b.entrance().WriteFiles(b.ctx, "broken", dir, io.MultiReader(bytes.NewReader(whole[:600]), failing{errGone}))
	if !errors.Is(err, errGone) {
		b.t.Errorf("got %v, want the error of the archive", err)
	}
	if err := b.entrance().WriteFiles(b.ctx, "broken", dir, bytes.NewReader(whole[:514])); err == nil {
		b.t.Error("a truncated archive is no error")
	}
	b.gone("broken", "xpof")
}

func (b bench) filesBig() {
	const size = "67108864"
	b.start("bigfile", "sleep 600")
	dir := b.directory("bigfile")
	if got := b.inside("bigfile", "head -c "+size+" /dev/zero >"+filepath.Join(dir, "big")); got.code != 0 {
		b.t.Fatalf("got %+v", got)
	}
	r, err := b.entrance().ReadFiles(b.ctx, "bigfile", filepath.Join(dir, "big"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if got := b.inside("bigfile", "mkdir "+dir+"/copy"); got.code != 0 {
		b.t.Fatalf("got %+v", got)
	}
	if err := b.entrance().WriteFiles(b.ctx, "bigfile", dir+"/copy", r); err != nil {
		b.t.Fatal(err)
	}
	if got := b.inside("bigfile", "stat -c %s "+dir+"/copy/big"); got.stdout != size+"\n" {
		b.t.Errorf("got %+v, want %s bytes", got, size)
	}
}
