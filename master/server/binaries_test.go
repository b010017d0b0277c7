package server

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestBinariesMatchTheirHashes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self := write("det-deploy self", "this program")
	other := write("plan9-mips", "another program")
	b, err := OpenBinaries(dir, self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := os.Rename(write("new", "replaced since"), other); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /binaries/{platform}", b)
	own := runtime.GOOS + "-" + runtime.GOARCH
	for _, tc := range []struct {
		name, path string
		code       int
		want       string
	}{
		{"its own", own, 200, "this program"},
		{"one from the directory, as it was", "plan9-mips", 200, "another program"},
		{"a hash", "plan9-mips.sha256", 200, hash("another program") + "  plan9-mips\n"},
		{"none", "linux-riscv64", 404, `{"message":"this master has no program for \"linux-riscv64\"; add it to binaries_dir under that name"}`},
		{"no way out of the directory", "..%2fsecret", 404, ""},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/binaries/"+tc.path, nil))
		if w.Code != tc.code || tc.want != "" && w.Body.String() != tc.want {
			t.Errorf("%s: got %d %q, want %d %q", tc.name, w.Code, w.Body, tc.code, tc.want)
		}
	}
	if got := b.Own(); got != hash("this program") { // known, because the requests above waited for it
		t.Errorf("got %q as its own hash", got)
	}
	if got := b.Hashes(); len(got) != 2 || got[own] != hash("this program") {
		t.Errorf("got %v, want the hashes of two programs", got)
	}
}

func TestBinariesWithoutDirectory(t *testing.T) {
	t.Parallel()
	self := filepath.Join(t.TempDir(), "self")
	if err := os.WriteFile(self, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "missing")} {
		b, err := OpenBinaries(dir, self)
		if err != nil || len(b.Hashes()) != 1 {
			t.Fatalf("%q: got %v, want its own program alone", dir, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenBinaries("", filepath.Join(t.TempDir(), "gone")); err == nil || !strings.Contains(err.Error(), "open the program for "+runtime.GOOS) {
		t.Errorf("got %v, want an error that names the platform", err)
	}
}

// Clients that request an unreadable program get an error, and the start of the master is not delayed.
func TestUnreadableProgram(t *testing.T) {
	t.Parallel()
	b, err := OpenBinaries("", t.TempDir()) // a directory can be opened but not read
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	mux := http.NewServeMux()
	mux.Handle("GET /binaries/{platform}", b)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/binaries/"+runtime.GOOS+"-"+runtime.GOARCH, nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "cannot read its program") {
		t.Errorf("got %d %s, want 500 and what cannot be read", w.Code, w.Body)
	}
	if got := b.Hashes(); len(got) != 0 || b.Own() != "" {
		t.Errorf("got %v and %q, want no hash", got, b.Own())
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Wheels are served only to users and tasks.
func TestWheelRequiresAuthentication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.Harness = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	})
	const path = "/harness/aa/determined-0.38.1-py3-none-any.whl"
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"a task": {w.task, http.StatusOK}, "a user": {w.user, http.StatusOK},
		"a stranger": {"", http.StatusUnauthorized}, "an old task": {w.task + "x", http.StatusUnauthorized},
	} {
		if r := w.ask(t, "GET", path, c.token, ""); r.Code != c.want || c.want == http.StatusOK && r.Body.String() != path {
			t.Errorf("%s: got %d and %q, want %d", name, r.Code, r.Body, c.want)
		}
	}
}
