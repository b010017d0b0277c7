package hostedtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Golden compares a text with that of a file, which it writes first where update says so.
func Golden(t *testing.T, update bool, file string, got []byte) {
	t.Helper()
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // it is for the repository
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil { //nolint:gosec // it is for the repository
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file) //nolint:gosec // the test says which
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(want)); d != "" {
		t.Errorf("got -, want +; run with -update when it is meant:\n%s", d)
	}
}
