// Package installed locates the tools that `make setup` installs for tests. With -short it skips
// the test. Without -short a missing tool skips the test, or fails it if CI=true, with the command
// that installs the tool. Only tests may import it.
package installed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// InProject returns a path below the root of the source tree that contains the working directory.
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

// File returns the path of a file that setup created in .cache. It skips the test with -short, and if the
// file is missing; with CI=true a missing file fails the test. Messages call the file what.
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

// Environment returns a Python environment of setup that has program in its bin directory. It skips
// the test if setup could not install it because no Python package index was reachable.
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

// Program returns the path of a program that setup installed from a package. It skips the test with
// -short, and if the program is missing; with CI=true a missing program fails the test.
func Program(t testing.TB, name string) string {
	t.Helper()
	skipShort(t, name)
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	message := fmt.Sprintf("%s: not installed; run: make setup", name)
	if os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}
