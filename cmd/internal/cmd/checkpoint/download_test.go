package checkpoint_test

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/cmd/checkpoint"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

const id = "5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a"

// download runs `det-deploy checkpoint download` with a master, and returns the directory.
func download(t *testing.T, master http.Handler, args ...string) (dir, stderr string, err error) {
	t.Helper()
	hs := httptest.NewServer(master)
	t.Cleanup(hs.Close)
	s, _, errs := term.Test("", false)
	home := t.TempDir()
	c := checkpoint.New(s.WithEnv(func(key string) string { return map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}[key] }))
	c.SilenceErrors, c.SilenceUsage = true, true
	dir = filepath.Join(home, "files")
	if args == nil {
		args = []string{id}
	}
	c.SetArgs(append([]string{"download", "--master", hs.URL, "--to", dir}, args...))
	err = c.ExecuteContext(t.Context())
	return dir, errs.String(), err
}

func describe(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, `{"checkpoint":{"uuid":"%s","resources":{"sub/weights":"4","sub/":"0"}}}`, id)
}

func TestDownloadContinuesAFile(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/checkpoints/"+id, describe)
	var ranges atomic.Value
	mux.HandleFunc("GET /checkpoints/"+id+"/file", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.FormValue("path") == "metadata.json":
			fmt.Fprint(w, "{}")
		case r.Header.Get("Range") == "":
			w.Header().Set("Content-Length", "4")
			fmt.Fprint(w, "12") // and the connection breaks
		default:
			ranges.Store(r.Header.Get("Range"))
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("1234"))
		}
	})
	dir, stderr, err := download(t, mux)
	if err != nil || !strings.Contains(stderr, "Downloaded 2 files (6 bytes)") || ranges.Load() != "bytes=2-" {
		t.Fatalf("got %q, range %v, %v", stderr, ranges.Load(), err)
	}
	for name, want := range map[string]string{"sub/weights": "1234", "metadata.json": "{}"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestDownloadKeepsTheFilesSoFar(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/checkpoints/"+id, describe)
	mux.HandleFunc("GET /checkpoints/"+id+"/file", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("path") == "metadata.json" {
			fmt.Fprint(w, "{}")
			return
		}
		http.Error(w, `{"error":{"code":7,"error":"not yours"}}`, http.StatusForbidden)
	})
	_, stderr, err := download(t, mux)
	if err == nil || !strings.Contains(stderr, ".download-"+id+". The same command continues.") {
		t.Errorf("got %q, %v", stderr, err)
	}
}

func TestDownloadFromAnEarlierMaster(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/checkpoints/"+id, describe)
	mux.HandleFunc("GET /checkpoints/"+id, func(w http.ResponseWriter, _ *http.Request) {
		z := gzip.NewWriter(w)
		a := tar.NewWriter(z)
		_ = a.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "sub/weights", Size: 4, Mode: 0o600})
		fmt.Fprint(a, "1234")
		_, _ = a.Close(), z.Close()
	})
	dir, _, err := download(t, mux)
	got, _ := os.ReadFile(filepath.Join(dir, "sub/weights"))
	entries, _ := os.ReadDir(dir)
	if err != nil || string(got) != "1234" || len(entries) != 1 {
		t.Errorf("got %q and %v, %v", got, entries, err)
	}
}

func TestDownloadOfAModelVersion(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/models/digits/versions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"modelVersions":[{"version":1,"checkpoint":{"uuid":"x"}},{"version":4,"checkpoint":{"uuid":"%s"}}],"pagination":{"total":2}}`, id)
	})
	mux.HandleFunc("GET /api/v1/checkpoints/"+id, describe)
	mux.HandleFunc("GET /checkpoints/"+id+"/file", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, map[string]string{"metadata.json": "{}", "sub/weights": "1234"}[r.FormValue("path")])
	})
	for _, name := range []string{"digits", "digits:4"} {
		if dir, stderr, err := download(t, mux, "--model", name); err != nil || !strings.Contains(stderr, dir) {
			t.Errorf("%s: got %q, %v", name, stderr, err)
		}
	}
	if _, _, err := download(t, mux, "--model", "digits:2"); err == nil || !strings.Contains(err.Error(), "model digits has no version 2 (have: 1, 4)") {
		t.Errorf("got %v, want the versions that there are", err)
	}
	if _, _, err := download(t, mux, "--model", "digits", id); err == nil || !strings.Contains(err.Error(), "use one of") {
		t.Errorf("got %v, want a choice", err)
	}
}
