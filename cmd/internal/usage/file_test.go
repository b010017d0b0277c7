package usage_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, absent := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	if err := os.WriteFile(file, []byte("a: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 16<<20+1)); err != nil {
		t.Fatal(err)
	}
	if got, err := usage.ReadFile("the file", file); err != nil || string(got) != "a: 1" {
		t.Errorf("got %q, %v", got, err)
	}
	for path, want := range map[string]string{
		large:                    "cannot read the file: " + large + " is larger than 16 MB",
		absent:                   "cannot read the file: " + absent + " does not exist",
		dir:                      "cannot read the file: " + dir + " is a directory",
		filepath.Join(file, "c"): "cannot read the file: open " + file + "/c: not a directory",
	} {
		if _, err := usage.ReadFile("the file", path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
