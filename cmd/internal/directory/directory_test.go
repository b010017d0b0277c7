package directory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// makeTree writes files below a new directory. An entry "a -> b" is a symbolic link; an entry that ends
// with a slash is an empty directory.
func makeTree(t *testing.T, entries ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "context")
	for _, e := range entries {
		name, target, isLink := strings.Cut(e, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.GetPath())
	}
	slices.Sort(names)
	return names
}

func TestReadOmitsWhatDetOmits(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "train.py", ".git/config", "sub/.git/HEAD", "__pycache__/train.pyc", "sub/old.pyc", "sub/old.pyo",
		"sub/keep.py", ".idea/x", ".vscode/x", "terraform.tfstate.backup", ".detignore", "sub/.detignore", "git/x")
	if d := cmp.Diff(namesIn(t, dir), []string{"git", "git/x", "sub", "sub/keep.py", "train.py"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

func TestDetignoreFollowsDefaults(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "train.py", "model.pyc", "data/big.bin")
	if err := os.WriteFile(filepath.Join(dir, ignoreFile), []byte("!model.pyc\ndata\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(namesIn(t, dir), []string{"model.pyc", "train.py"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "train.py", "sub/", "main.py -> train.py", "sub/up.py -> ../train.py", "again -> sub")
	if d := cmp.Diff(namesIn(t, dir), []string{"main.py", "sub", "sub/up.py", "train.py"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	for entry, name := range map[string]string{
		"passwords -> /etc/passwd": "passwords", "sub/data -> ../../..": "sub/data", "etc -> /etc": "etc",
	} {
		_, err := Read(makeTree(t, "train.py", entry))
		if err == nil || !strings.Contains(err.Error(), "the link "+name+" leads out of the directory") {
			t.Errorf("%s: got %v, want an error that names the link", entry, err)
		}
	}
}

func TestExcludedLinkMayLeadOut(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "train.py", "data -> /etc")
	if err := os.WriteFile(filepath.Join(dir, ignoreFile), []byte("data/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(namesIn(t, dir), []string{"train.py"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

// A context that is itself a link is read like its target.
func TestLinkedContext(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(makeTree(t, "train.py", "main.py -> train.py"), link); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(namesIn(t, link), []string{"main.py", "train.py"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}
