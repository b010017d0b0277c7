package words

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the top of the project.
const root = "../.."

// TestTheIdiomOfComments holds the rates of the whole project; with -v it prints those of
// each package, worst first. A package alone never fails it.
func TestTheIdiomOfComments(t *testing.T) {
	t.Parallel()
	of, all, packages := idioms(), &count{}, map[string]*count{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && isSkipped(path):
			return fs.SkipDir
		case d.IsDir(), !isWritten(path):
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		text, err := comments(f)
		_ = f.Close() // it was only read
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if packages[dir] == nil {
			packages[dir] = &count{}
		}
		packages[dir].add(text, of)
		all.add(text, of)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", all.line("all", of), report(packages, of, 200))
	for _, m := range all.misses(of) {
		t.Error(m)
	}
}

// isSkipped reports whether a directory holds no sources of the project.
func isSkipped(dir string) bool {
	name := filepath.Base(dir)
	return name == "testdata" || dir != root && strings.HasPrefix(name, ".") || name == "bin" || name == "dist"
}

// isWritten reports whether a file is Go that was not generated.
func isWritten(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".pb.go") && !strings.HasSuffix(name, "_gen.go")
}

func TestComments(t *testing.T) {
	t.Parallel()
	source := "//go:build linux\n\n// Foo returns what is\n// wanted.\nvar foo = 1 // Bar fails.\n\n//nolint:revive // said elsewhere\nvar url = \"http://x\"\n"
	got, err := comments(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	if want := "Foo returns what is wanted. Bar fails. "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	of, c := idioms(), &count{}
	c.add("Foo returns what is wanted, and says so. Nobody reads it.", of)
	if d := cmp.Diff(c.hits, []int{1, 1, 1, 1}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	c.add(strings.Repeat("Foo returns the stored value or an error. ", 1000), of)
	if got := c.misses(of); len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
	odd := &count{}
	odd.add(strings.Repeat("Foo is what is said. ", 10), of)
	want := []string{
		"what: got 2000.0 per 10,000 words, want at most 15",
		"says: got 2000.0 per 10,000 words, want at most 8",
		"error words: got 0.0 per 10,000 words, want at least 60",
	}
	if d := cmp.Diff(odd.misses(of), want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestReportIsWorstFirst(t *testing.T) {
	t.Parallel()
	of := idioms()
	packages := map[string]*count{"good": {}, "bad": {}, "short": {}}
	packages["good"].add("one two three four", of)
	packages["bad"].add("what is said here", of)
	packages["short"].add("said", of)
	want := packages["bad"].line("bad", of) + "\n" + packages["good"].line("good", of) + "\n"
	if d := cmp.Diff(report(packages, of, 4), want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
