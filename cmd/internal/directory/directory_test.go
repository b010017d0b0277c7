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
	d, err := Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range d.Files {
		names = append(names, f.GetPath())
	}
	slices.Sort(names)
	return names
}

func TestReadOmitsWhatDetOmits(t *testing.T) {
	t.Parallel()
	dir := makeTree(t, "train.py", ".git/config", "sub/.git/HEAD", ".venv/bin/python", "web/node_modules/x/index.js", "__pycache__/train.pyc", "sub/old.pyc", "sub/old.pyo",
		"sub/keep.py", ".idea/x", ".vscode/x", "terraform.tfstate.backup", ".detignore", "sub/.detignore", "git/x")
	if d := cmp.Diff(namesIn(t, dir), []string{"git", "git/x", "sub", "sub/keep.py", "train.py", "web"}); d != "" {
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
		_, err := Scan(makeTree(t, "train.py", entry))
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

func TestBrokenLinksAreNamed(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"sub/latest -> ../gone": "the link sub/latest is broken: its target ../gone does not exist",
		"data -> /no/such/data": "the link data is broken: its target /no/such/data does not exist",
	} {
		if _, err := Scan(makeTree(t, "train.py", entry)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", entry, err, want)
		}
	}
}

func TestLeftOutIsCounted(t *testing.T) {
	t.Parallel()
	for want, entries := range map[string][]string{
		"": {"train.py", "data/x"},
		"Left out 1 directory (.git); .detignore changes that.":                                {"train.py", ".git/config", ".git/HEAD"},
		"Left out 2 files (a.pyc, b.pyc); .detignore changes that.":                            {"train.py", "a.pyc", "b.pyc"},
		"Left out 3 directories and 2 files (.git, .venv, a.pyc, …); .detignore changes that.": {".git/x", ".venv/x", "a.pyc", "b.pyc", "node_modules/x"},
		"Left out 3 directories (__pycache__, again); .detignore changes that.":                {"__pycache__/x", "sub/__pycache__/x", "sub/y", "again -> sub"},
	} {
		d, err := Scan(makeTree(t, entries...))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.LeftOut.String(); got != want {
			t.Errorf("%q: got %q, want %q", entries, got, want)
		}
	}
}

func TestLoadReadsContents(t *testing.T) {
	t.Parallel()
	d, err := Scan(makeTree(t, "train.py", "sub/x", "main.py -> train.py"))
	if err == nil {
		err = d.Load()
	}
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range d.Files {
		got[f.GetPath()] = string(f.GetContent())
	}
	if diff := cmp.Diff(got, map[string]string{"train.py": "train.py", "main.py": "train.py", "sub": "", "sub/x": "sub/x"}); diff != "" || d.Bytes != 21 {
		t.Errorf("%d bytes (-got +want):\n%s", d.Bytes, diff)
	}
	d.Bytes = heldLimit + 1
	if err := d.Load(); err == nil {
		t.Error("a directory above the limit was loaded")
	}
}
