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

func TestTextsUseTheFieldsWords(t *testing.T) {
	t.Parallel()
	var wrong []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && isLeftOut(name) {
			return fs.SkipDir
		}
		if d.IsDir() || !isText(name) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".go") {
			wrong = append(wrong, findInGo(name, text)...)
		} else {
			wrong = append(wrong, findPhrases(name, string(text), 1)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(wrong) > 0 {
		t.Errorf("%d texts use words that det-deploy does not:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
}

// isLeftOut says which directories hold no texts of today's: decisions and changes are
// told in the words of their time, and the tests' tools speak to us only.
func isLeftOut(dir string) bool {
	switch dir {
	case "bin", "dist", "test", filepath.Join("docs", "adr"):
		return true
	}
	return dir != "." && strings.HasPrefix(filepath.Base(dir), ".") || filepath.Base(dir) == "testdata"
}

func isText(name string) bool {
	switch {
	case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(name, ".pb.go"), name == filepath.Join("docs", "changelog.md"):
		return false
	}
	for _, ending := range []string{".go", ".md", ".yaml", ".tpl", ".tmpl", ".txt", ".proto"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

func TestFindInGo(t *testing.T) {
	t.Parallel()
	source := "package p\n\n// Nobody reads it.\nvar nobody = `a\nis made anew`\n"
	want := []string{
		`p.go:3: "Nobody"; say: name the actor: no user, no agent, no process`,
		`p.go:5: "anew"; say: again; re-create, rewrite, restart`,
	}
	if d := cmp.Diff(findInGo("p.go", []byte(source)), want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
