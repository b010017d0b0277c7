package edgetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// CheckMade wants every call to be made somewhere in source, but for those that
// only tests make: a call that nothing makes any more must not stay granted. Forms
// is how a call of that name may look in Go.
func CheckMade(t *testing.T, calls edge.Calls, source string, unmade []string, forms func(op string) []string) {
	t.Helper()
	for _, c := range calls {
		made := slices.ContainsFunc(forms(c.Op), func(form string) bool { return strings.Contains(source, form) })
		if made == slices.Contains(unmade, c.Op) {
			t.Errorf("%s: got made by the program: %t; correct the table of calls or the list of what only tests make", c.Op, made)
		}
	}
}

// Source is the Go code below some folders, without tests and without the folders
// whose names are in skip.
func Source(t *testing.T, root string, folders, skip []string) string {
	t.Helper()
	var b strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains(skip, d.Name()) {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
