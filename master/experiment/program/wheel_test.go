package program

import (
	"archive/zip"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/harness"
	"github.com/det-deploy/det-deploy/test/dettest"
)

// writeWheel writes a wheel of the library that prints a greeting when it is imported.
func writeWheel(t *testing.T, needs string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "determined-0.38.1-py3-none-any.whl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for member, text := range map[string]string{
		"determined/__init__.py":               "greeting = 'from the wheel'\n",
		"determined-0.38.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: determined\nVersion: 0.38.1\n" + needs,
		"determined-0.38.1.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"determined-0.38.1.dist-info/RECORD":   "",
	} {
		w, err := z.Create(member)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// bareEnvironment returns a Python interpreter with pip and without the library.
func bareEnvironment(t *testing.T) (python string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dettest.Home(t), "bin", "python3"), "-m", "venv", dir).CombinedOutput(); err != nil {
		t.Fatalf("make an environment: %v\n%s", err, out)
	}
	return filepath.Join(dir, "bin", "python3")
}

// A container whose image lacks the library installs the cluster's wheel after the master has
// accepted the token and the hash matches, even if the master is unavailable at first. The wheel's
// dependencies are not downloaded.
func TestClusterWheelIsInstalled(t *testing.T) {
	t.Parallel()
	python := bareEnvironment(t)
	for _, tc := range []struct {
		name, needs, token string
		away               int32
		other              bool // the downloaded file is a different one
		want               []string
	}{
		{"a wrong token", "", "other", 0, false, []string{"the master answers 403", "task_container_defaults.harness_wheel"}},
		{"another file", "", "own", 0, true, []string{"has the SHA-256", "task_container_defaults.harness_wheel"}},
		{"a package that is not there", "Requires-Dist: no-such-package-of-ours\n", "own", 0, false, []string{"no-such-package-of-ours", "PIP_INDEX_URL"}},
		{"the wheel", "", "own", 1, false, []string{"installing the cluster's wheel determined-0.38.1-py3-none-any.whl", "ran from the wheel"}},
	} {
		var wheels harness.Wheels
		wheel, err := wheels.Load(container.Wheel{File: writeWheel(t, tc.needs)})
		if err != nil {
			t.Fatal(err)
		}
		var asked atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case asked.Add(1) <= tc.away:
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.Header.Get("Grpc-Metadata-x-allocation-token") != "Bearer own":
				w.WriteHeader(http.StatusForbidden)
			case tc.other:
				_, _ = w.Write([]byte("something else"))
			default:
				wheels.ServeHTTP(w, r)
			}
		}))
		defer s.Close()
		out, err := runPreludeWith(t, t.TempDir(), []string{
			"DET_PYTHON_EXECUTABLE=" + python, "DET_MASTER=" + s.URL, "DET_SESSION_TOKEN=" + tc.token, "DET_HARNESS_WHEEL=" + wheel.URLPath(),
		}, "-c", "import determined; print('ran', determined.greeting)")
		if (err == nil) != (tc.name == "the wheel") {
			t.Errorf("%s: got %v", tc.name, err)
		}
		for _, w := range tc.want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: got %s, want %q in it", tc.name, out, w)
			}
		}
	}
}
