// Package installed finds what `make setup` installs for the tests. With -short nothing of
// it is used, and the test is skipped. A part that is missing skips a test as well, or fails
// it under CI=true, with the command that installs it. Only tests may import it.
package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// InProject is a path below the top of the source tree, in which every test runs.
func InProject(elem ...string) string {
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, elem...)...)
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(elem...)
}

// File is one that setup made in .cache; what it is called stands in the message.
func File(t testing.TB, what string, elem ...string) string {
	t.Helper()
	skipShort(t, what)
	path := InProject(append([]string{".cache"}, elem...)...)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	message := fmt.Sprintf("%s: not installed; run: make setup", what)
	if os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// Environment is a Python environment of setup with that program in its bin. Where no
// Python index answered, nobody could install it, and the test is skipped.
func Environment(t testing.TB, what, name, program string) (home string) {
	t.Helper()
	skipShort(t, what)
	home = InProject(".cache", name)
	if _, err := os.Stat(filepath.Join(home, "no-index")); err == nil {
		t.Skipf("no Python index answered when %s was to be installed", what)
	}
	File(t, what, name, "bin", program)
	return home
}

func skipShort(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("uses %s; run without -short", what)
	}
}
