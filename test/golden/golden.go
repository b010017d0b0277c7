// Package golden compares the output of a test with a stored file: a golden file of the package, or
// a generated page of the documentation. With -update a test writes the file instead.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that are compared")

// Updating reports whether files are written instead of compared.
func Updating() bool { return *update }

// Compare fails the test unless the content of the file is made. The path is relative to the
// package of the test.
func Compare(t testing.TB, path, made string) {
	t.Helper()
	if *update {
		write(t, path, made)
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read what is kept (go test with -update writes it): %v", err)
	}
	if d := cmp.Diff(string(kept), made); d != "" {
		t.Errorf("%s is stale; run %s with -update if this is meant (-kept +made):\n%s", path, t.Name(), d)
	}
}

// ComparePart is like Compare for the text between two lines of a file that is otherwise edited by
// hand.
func ComparePart(t testing.TB, path, begin, end, made string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, began := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !began || !ended {
		t.Fatalf("%s has no place for what is generated, between %q and %q", path, begin, end)
	}
	Compare(t, path, before+begin+made+end+after)
}

func write(t testing.TB, path, made string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
		t.Fatal(err)
	}
}
