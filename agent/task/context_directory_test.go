package task

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
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

func TestUnpack(t *testing.T) {
	t.Parallel()
	got, err := unpackContext(bytes.NewReader(pack(t,
		part{tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, ""},
		part{tar.Header{Name: "sub/", Typeflag: tar.TypeDir, Mode: 0o755}, ""},
		file("./sub/model.py", "print()\n"), link("sub/again.py", "model.py"), link("up", "sub/../sub"),
	)), "/w")
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
			if got, err := unpackContext(bytes.NewReader(pack(t, p)), "/w"); err == nil {
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
	got, err := fetchContext(t.Context(), contextSource{s.Client(), s.URL, "full", "secret"}, "/w")
	if err != nil || len(got) != 1 || got[0].Path != "/w/a" || string(got[0].Content) != "b" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := fetchContext(t.Context(), contextSource{s.Client(), s.URL, "empty", "secret"}, "/w"); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want nothing", got, err)
	}
	if _, err := fetchContext(t.Context(), contextSource{s.Client(), s.URL, "full", "wrong"}, "/w"); err == nil || !strings.Contains(err.Error(), "401") {
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
		default:
			_, _ = fmt.Fprintf(w, `{"b64Tgz":%q}`, base64.StdEncoding.EncodeToString(pack(t, file("a", "b"))))
		}
	}))
	defer s.Close()
	u := &Task{
		cfg: Config{Client: s.Client(), Master: s.URL}, Log: slog.New(slog.DiscardHandler),
		Order: &agentv1.Start{TaskId: "t", Spec: &agentv1.Spec{WorkDir: "/w"}},
	}
	if files, err := u.fetchFiles(t.Context()); err != nil || len(files) != 1 || asked != 4 {
		t.Errorf("got %v, error %v after %d questions; want one file after four", files, err, asked)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.fetchFiles(gone); err == nil {
		t.Error("who is not wanted any more still asks")
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, file("a", "b"), link("c", "a")))
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := unpackContext(bytes.NewReader(data), "/w")
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
