package task

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

type part struct {
	h    tar.Header
	body string
}

func pack(t testing.TB, parts ...part) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, p := range parts {
		p.h.Size = int64(len(p.body))
		if err := w.WriteHeader(&p.h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(p.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name, body string) part {
	return part{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, body}
}

func link(name, to string) part {
	return part{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}, ""}
}

// unpacked returns the files of an archive, with their contents in memory.
func unpacked(t testing.TB, r io.Reader) ([]container.File, error) {
	t.Helper()
	files, err := newContextFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }() // it is read only
	err = files.unpackContext(r, "/w")
	return held(t, files.list), err
}

// held returns files with their contents in memory.
func held(t testing.TB, files []container.File) []container.File {
	t.Helper()
	for i, f := range files {
		if f.Body == nil {
			continue
		}
		var b bytes.Buffer
		if n, err := f.WriteTo(&b); err != nil || n != f.Size() {
			t.Fatalf("%s: got %d bytes and %v, want %d", f.Path, n, err, f.Size())
		}
		files[i].Content, files[i].Body = b.Bytes(), nil
	}
	return files
}

// fetched returns the files that a master sends.
func fetched(t *testing.T, s contextSource) ([]container.File, error) {
	t.Helper()
	files, err := newContextFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }() // it is read only
	err = files.fetchContext(t.Context(), s, "/w")
	return held(t, files.list), err
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	got, err := unpacked(t, bytes.NewReader(pack(t,
		part{tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, ""},
		part{tar.Header{Name: "sub/", Typeflag: tar.TypeDir, Mode: 0o755}, ""},
		file("./sub/model.py", "print()\n"), link("sub/again.py", "model.py"), link("up", "sub/../sub"),
	)))
	want := []container.File{
		{Path: "/w/sub", Dir: true, Mode: 0o755},
		{Path: "/w/sub/model.py", Content: []byte("print()\n"), Mode: 0o644},
		{Path: "/w/sub/again.py", Link: "model.py"},
		{Path: "/w/up", Link: "sub/../sub"},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(container.File{}, "ModTime")); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestPathsOutsideContextDirectoryAreRejected(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]part{
		"a parent":                file("../x", ""),
		"a parent in the middle":  file("a/../../x", ""),
		"an absolute path":        file("/etc/passwd", ""),
		"a link to a parent":      link("a", ".."),
		"a link over a directory": link("a/b", "../../c"),
		"an absolute link":        link("a", "/etc"),
		"a device":                {tar.Header{Name: "d", Typeflag: tar.TypeChar}, ""},
		"a hard link":             {tar.Header{Name: "d", Typeflag: tar.TypeLink, Linkname: "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := unpacked(t, bytes.NewReader(pack(t, p))); err == nil {
				t.Errorf("got %v, want it refused", got)
			}
		})
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Grpc-Metadata-x-allocation-token") != "Bearer secret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		answer := map[string]string{"b64Tgz": ""}
		if r.URL.Path == "/api/v1/tasks/full/context_directory" {
			answer["b64Tgz"] = base64.StdEncoding.EncodeToString(pack(t, file("a", "b")))
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	got, err := fetched(t, contextSource{s.Client(), s.URL, "full", "secret"})
	if err != nil || len(got) != 1 || got[0].Path != "/w/a" || string(got[0].Content) != "b" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := fetched(t, contextSource{s.Client(), s.URL, "empty", "secret"}); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want nothing", got, err)
	}
	if _, err := fetched(t, contextSource{s.Client(), s.URL, "full", "wrong"}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v, want 401", err)
	}
}

// The request is retried if the master is killed while it answers.
func TestFileRequestIsRetried(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch asked++; asked {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		case 3:
			http.Error(w, "the master starts", http.StatusServiceUnavailable)
		case 4: // of unknown length
			text := base64.StdEncoding.EncodeToString(pack(t, file("a", "b")))
			_, _ = fmt.Fprintf(w, `{"b64Tgz":"%s`, text[:len(text)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			_, _ = fmt.Fprintf(w, `{"b64Tgz":%q}`, base64.StdEncoding.EncodeToString(pack(t, file("a", "b"))))
		}
	}))
	defer s.Close()
	u := &Task{
		cfg: Config{Client: s.Client(), Master: s.URL}, Log: slog.New(slog.DiscardHandler),
		Order: &agentv1.Start{TaskId: "t", Spec: &agentv1.Spec{WorkDir: "/w"}},
	}
	if files, err := u.fetchFiles(t.Context()); err != nil || len(files.list) != 1 || asked != 5 {
		t.Errorf("got %v, error %v after %d questions; want one file after five", files, err, asked)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.fetchFiles(gone); err == nil {
		t.Error("who is not wanted any more still asks")
	}
}

// The contents of the files are on disk, in a file that no name leads to.
func TestFilesAreNotHeldInMemory(t *testing.T) { //nolint:paralleltest // it looks at the memory of the whole process
	const size = 64 << 20
	packed := pack(t, file("zeros", strings.Repeat("\x00", size)))
	dir := t.TempDir()
	files, err := newContextFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }() // it is read only
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := files.unpackContext(bytes.NewReader(packed), "/w"); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; len(files.list) != 1 || files.list[0].Size() != size || n > size/8 {
		t.Errorf("got %d files for %d bytes of memory", len(files.list), n)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("got %v and %v, want no names", left, err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, file("a", "b"), link("c", "a")))
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := unpacked(t, bytes.NewReader(data))
		for _, file := range files {
			if err == nil && !strings.HasPrefix(file.Path, "/w/") {
				t.Errorf("%q leads out", file.Path)
			}
		}
	})
}

func TestFilesThatCannotBeReadEndTheContainer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "a part of the files is missing", http.StatusInternalServerError)
	}))
	defer s.Close()
	u := &Task{
		cfg: Config{Client: s.Client(), Master: s.URL}, Log: slog.New(slog.DiscardHandler),
		Order: &agentv1.Start{TaskId: "t", Spec: &agentv1.Spec{WorkDir: "/w"}},
	}
	if _, err := u.fetchFiles(t.Context()); err == nil || !strings.Contains(err.Error(), "a part of the files is missing") {
		t.Errorf("got %v, want what the master says", err)
	}
}
