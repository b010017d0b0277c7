package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// project is the root of the source tree.
const project = "../../.."

// pages returns the hand-written pages of the documentation by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(project, "docs", "*.md"))
	if err != nil || len(found) < 10 {
		t.Fatalf("got %d pages, %v", len(found), err)
	}
	texts := map[string]string{}
	for _, path := range append(found, filepath.Join(project, "README.md")) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(b)
	}
	return texts
}

func TestPagesNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	root := tree(t)[0]
	for path, text := range pages(t) {
		if filepath.Base(path) == "changelog.md" {
			continue // its commands are those of the time
		}
		for _, line := range blockLines(text) {
			line, _, _ = strings.Cut(line, " #")
			if fault := faultOf(root, line); fault != "" {
				t.Errorf("%s: %q %s", path, strings.TrimSpace(line), fault)
			}
		}
	}
}

// blockLines returns the lines of a page's code blocks, which are fenced or indented.
func blockLines(page string) (lines []string) {
	fenced := false
	for line := range strings.Lines(strings.ReplaceAll(page, "\\\n", " ")) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case fenced || strings.HasPrefix(line, "    "):
			lines = append(lines, line)
		}
	}
	return lines
}

// faultOf returns what is wrong with a line that is a command of det-deploy, or "".
func faultOf(root *cobra.Command, line string) string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "sudo ")
	line = strings.TrimPrefix(strings.TrimPrefix(line, "./"), "bin/")
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "det-deploy" || !unicode.IsLower(rune(words[1][0])) {
		return ""
	}
	found, rest, err := root.Find(words[1:])
	if words[1] == "completion" {
		return ""
	}
	if err != nil || found == root {
		return "names no command"
	}
	for _, w := range rest {
		if strings.ContainsAny(w, "|><;") || w == "--" {
			break
		}
		name, isFlag := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && found.Flags().Lookup(name) == nil && found.InheritedFlags().Lookup(name) == nil {
			return "uses --" + name + ", which " + found.CommandPath() + " lacks"
		}
	}
	return ""
}

var (
	link    = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	for path, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := path
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(path), m[1])
			}
			b, err := os.ReadFile(target)
			info, statErr := os.Stat(target)
			switch {
			case statErr != nil:
				t.Errorf("%s: the link to %s leads nowhere", path, m[1])
			case info.IsDir() || m[2] == "":
			case err != nil:
				t.Errorf("%s: %v", path, err)
			case !hasAnchor(string(b), m[2]):
				t.Errorf("%s: %s has no heading #%s", path, target, m[2])
			}
		}
	}
}

// hasAnchor reports whether a page has a heading with this anchor, as GitHub makes anchors.
func hasAnchor(page, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		made := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(made, " ", "-") == anchor {
			return true
		}
	}
	return false
}
