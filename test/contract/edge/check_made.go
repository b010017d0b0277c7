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

// CheckMade reports an error for each call that does not occur in source, except those in unmade,
// which only tests make: the permission of an unused call must not stay granted. Forms returns the
// forms that a call of that name may have in Go.
func CheckMade(t *testing.T, calls edge.Calls, source string, unmade []string, forms func(op string) []string) {
	t.Helper()
	for _, c := range calls {
		made := slices.ContainsFunc(forms(c.Op), func(form string) bool { return strings.Contains(source, form) })
		if made == slices.Contains(unmade, c.Op) {
			t.Errorf("%s: got made by the program: %t; correct the table of calls or the list of what only tests make", c.Op, made)
		}
	}
}

// Source returns the Go code below the given folders, without tests and without the directories
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
