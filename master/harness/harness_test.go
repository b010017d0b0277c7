package harness_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/checksum"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/harness"
)

func TestServeWheel(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "determined-0.38.1-py3-none-any.whl")
	if err := os.WriteFile(file, []byte("the wheel"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := checksum.File(file)
	if err != nil {
		t.Fatal(err)
	}
	var w harness.Wheels
	for _, given := range []container.Wheel{{File: file}, {File: file, SHA256: sum}} {
		if got, err := w.Load(given); err != nil || got != (container.Wheel{File: file, SHA256: sum}) {
			t.Fatalf("%v: got %v, %v", given, got, err)
		}
	}
	if err := os.WriteFile(file, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/harness/" + sum + "/determined-0.38.1-py3-none-any.whl":                     200,
		"/harness/" + sum + "/other-1-py3-none-any.whl":                               404,
		"/harness/" + strings.Repeat("0", 64) + "/determined-0.38.1-py3-none-any.whl": 404,
	} {
		r := httptest.NewRecorder()
		w.ServeHTTP(r, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if r.Code != want || want == 200 && r.Body.String() != "the wheel" {
			t.Errorf("%s: got %d and %q, want %d", path, r.Code, r.Body, want)
		}
	}
}

func TestLoadRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "determined-0.38.1-py3-none-any.whl")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var w harness.Wheels
	for given, want := range map[container.Wheel]string{
		{}: "",
		{File: filepath.Join(dir, "missing.whl")}: "no such file",
		{File: dir}: "must be a file of at most 64 MB",
		{File: file, SHA256: strings.Repeat("0", 64)}: "instead of " + strings.Repeat("0", 64),
	} {
		if _, err := w.Load(given); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", given, err, want)
		}
	}
}
