package layers_test

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/layers"
)

// listed is the output of go list for a package.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
	// Doc is the first sentence of the package comment.
	Doc string
}

// list returns the packages of this module by their path below the module.
func list(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps,Doc", layers.Module+"...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the packages: %v\n%s", err, stderr.String())
	}
	all := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(p.ImportPath, layers.Module)] = p
	}
	return all
}

func TestEveryImportPointsDown(t *testing.T) {
	t.Parallel()
	rows := layers.Rows()
	for pkg, p := range list(t) {
		row, ok := layers.Find(rows, pkg)
		if !ok {
			t.Errorf("%s has no row: say in test/layers what it may import, and why", pkg)
			continue
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, layers.Module)
			if ours && !row.Allowed(to) {
				t.Errorf("%s imports %s, which its row does not allow: %s", pkg, to, row.Why)
			}
		}
	}
}

func TestNothingForbiddenIsReached(t *testing.T) {
	t.Parallel()
	all := list(t)
	for _, ban := range layers.Bans() {
		for pkg, p := range all {
			if !layers.Match(ban.From, pkg) {
				continue
			}
			for _, dep := range p.Deps {
				for _, lib := range ban.Library {
					if dep == lib || strings.HasSuffix(lib, "/") && strings.HasPrefix(dep, lib) {
						t.Errorf("%s reaches %s: %s", pkg, dep, ban.Why)
					}
				}
			}
		}
	}
}

func TestLibraryImportsAreConfined(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for pkg, p := range list(t) {
		for _, home := range layers.Homes() {
			for _, path := range p.Imports {
				if !strings.HasPrefix(path, home.Library) {
					continue
				}
				found[home.Library] = true
				if !slices.ContainsFunc(home.Of, func(of string) bool { return layers.Match(of, pkg) }) {
					t.Errorf("%s imports %s, which is for %v: %s", pkg, path, home.Of, home.Why)
				}
			}
		}
	}
	for _, home := range layers.Homes() {
		if !found[home.Library] {
			t.Errorf("nothing imports %s: its rule is out of use", home.Library)
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	t.Parallel()
	for pkg, p := range list(t) {
		var with []string
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil && !strings.HasSuffix(name, ".pb.go") {
				with = append(with, name)
			}
		}
		if len(p.GoFiles) > 0 && len(with) != 1 {
			t.Errorf("%s has %d package comments %v, want one that says what it is for", pkg, len(with), with)
		}
	}
}

func TestTheModuleReplacesNothing(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(strings.TrimSpace(line), "replace") {
			t.Errorf("go.mod has %q: with a replacement, go install of the module is refused", strings.TrimSpace(line))
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, pkg string
		want         bool
	}{
		{"agent", "agent", true},
		{"agent", "agent/link", false},
		{"agent/...", "agent", true},
		{"agent/...", "agent/container/docker", true},
		{"agent/...", "agentless", false},
		{"agent/*", "agent/link", true},
		{"agent/*", "agent", false},
		{"agent/*", "agent/container/docker", false},
		{"...", "anything", true},
	}
	for _, tt := range tests {
		if got := layers.Match(tt.pattern, tt.pkg); got != tt.want {
			t.Errorf("Match(%q, %q): got %t, want %t", tt.pattern, tt.pkg, got, tt.want)
		}
	}
}

func TestRowsAllowOnlyTheirImports(t *testing.T) {
	t.Parallel()
	row, ok := layers.Find(layers.Rows(), "agent/link")
	if !ok || row.Allowed("cloud/aws/api") || row.Allowed("master/server") || !row.Allowed("master/api/agentv1") {
		t.Errorf("got row %+v, want one that allows the link's messages and neither cloud nor server", row)
	}
}
