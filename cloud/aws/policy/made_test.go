package policy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
)

// A call that nothing makes any more must not stay granted.
func TestEveryCallIsMadeSomewhere(t *testing.T) {
	t.Parallel()
	source := program(t)
	for _, c := range api.Calls() {
		_, name, _ := strings.Cut(c.Op, ":")
		made := strings.Contains(source, "."+name+"(") || strings.Contains(source, "New"+name+"Paginator(")
		if made == slices.Contains(policy.Unmade(), c.Op) {
			t.Errorf("%s: got made by the program: %t; correct package api or the list of what only tests make", c.Op, made)
		}
	}
}

// program is what may call Amazon, without tests and without what stands between
// it and Amazon.
func program(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, top := range []string{"cloud/aws", "cloud/host", "installer", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", "..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains([]string{"api", "awstest", "testdata"}, d.Name()) {
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
