package layers_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/golden"
)

// Lines of the architecture page around the generated map.
const (
	mapPage  = "../../docs/architecture.md"
	mapBegin = "<!-- The map is generated: go test ./test/layers -run TestTheMapIsFresh -update -->\n"
	mapEnd   = "<!-- end of the map -->\n"
)

func TestTheMapIsFresh(t *testing.T) {
	t.Parallel()
	golden.ComparePart(t, mapPage, mapBegin, mapEnd, drawMap(list(t)))
}

// drawMap returns one line for each package: its path and the first sentence of its comment. The
// wings are the top directories; packages directly in the root belong to all of them.
func drawMap(all map[string]listed) string {
	wings := map[string][]string{}
	for pkg, p := range all {
		top, _, nested := strings.Cut(pkg, "/")
		if top == "test" || len(p.GoFiles) == 0 {
			continue
		}
		if !nested && !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(o string) bool { return strings.HasPrefix(o, pkg+"/") }) {
			top = "for all"
		}
		wings[top] = append(wings[top], pkg)
	}
	var b strings.Builder
	for _, wing := range slices.Sorted(maps.Keys(wings)) {
		fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n", wing)
		for _, pkg := range slices.Sorted(slices.Values(wings[wing])) {
			fmt.Fprintf(&b, "| `%s` | %s |\n", pkg, purpose(all[pkg].Doc))
		}
	}
	return b.String() + "\n"
}

// purpose returns a package's sentence without its name: "stores bytes by key".
func purpose(doc string) string {
	for _, kind := range []string{"Package ", "Command "} {
		if rest, ok := strings.CutPrefix(doc, kind); ok {
			_, doc, _ = strings.Cut(rest, " ")
		}
	}
	return strings.TrimSuffix(strings.ReplaceAll(doc, "|", "\\|"), ".")
}

// placed matches a path in the index: a file, or the directory of a package.
var placed = regexp.MustCompile("`((?:agent|cloud|cmd|installer|internal|k8s|master|templates|test)(?:/[a-z0-9_./-]+)?)`")

func TestIndexLinksExist(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"architecture.md", "contributing.md"} {
		page, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		paths := placed.FindAllStringSubmatch(string(page), -1)
		if len(paths) < 10 {
			t.Errorf("%s: got %d paths, want an index of them", name, len(paths))
		}
		for _, p := range paths {
			if _, err := os.Stat(filepath.Join("../..", p[1])); err != nil {
				t.Errorf("docs/%s names %s: %v", name, p[1], err)
			}
		}
	}
}
