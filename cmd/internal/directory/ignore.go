package directory

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// ignore holds the patterns of a .detignore file, in the format of .gitignore. The last matching pattern
// takes precedence.
type ignore []pattern

type pattern struct {
	// parts are the elements of the pattern between slashes.
	parts []string
	// anchored patterns match from the root of the directory, others at any depth.
	anchored bool
	// keep is true if the pattern began with "!".
	keep bool
	// dirs is true if the pattern ended with "/" and matches only directories.
	dirs bool
}

const ignoreFile = ".detignore"

// defaultPatterns are those of the det client, and directories of packages that are installed again
// from a list. They apply before the patterns of .detignore.
const defaultPatterns = `
.venv/
node_modules/
__pycache__/
*.py[co]
*$py.class
terraform
terraform_data
terraform.tfstate*
terraform.tfvars*
.terraform*
.git/
.vscode/
.idea/
.mypy_cache/
/shared_fs
`

// readIgnore returns the default patterns followed by those of a file, which may be missing.
func readIgnore(file string) (ignore, error) {
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read .detignore: %w", err)
	}
	return parseIgnore(defaultPatterns + string(raw))
}

func parseIgnore(text string) (ignore, error) {
	var out ignore
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		var p pattern
		line, p.keep = strings.CutPrefix(line, "!")
		line = strings.TrimPrefix(line, `\`) // \# and \! are literal
		line, p.dirs = strings.CutSuffix(line, "/")
		p.anchored = strings.Contains(line, "/")
		p.parts = strings.Split(strings.TrimPrefix(line, "/"), "/")
		for _, part := range p.parts {
			if _, err := path.Match(part, ""); err != nil {
				return nil, fmt.Errorf("cannot read .detignore: pattern %q: %w", line, err)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// matchesPath reports whether the entry at a slash-separated path is excluded.
func (g ignore) matchesPath(name string, isDir bool) bool {
	out := false
	names := strings.Split(name, "/")
	for _, p := range g {
		if p.dirs && !isDir {
			continue
		}
		from := names
		if !p.anchored {
			from = names[len(names)-1:]
		}
		if matchParts(p.parts, from) {
			out = !p.keep
		}
	}
	return out
}

// matchParts matches element by element; "**" matches any number of elements.
func matchParts(parts, names []string) bool {
	if len(parts) == 0 {
		return len(names) == 0
	}
	if parts[0] == "**" {
		for i := range len(names) + 1 {
			// A trailing ** matches the contents of a directory, but not the directory itself.
			if (len(parts) > 1 || i > 0) && matchParts(parts[1:], names[i:]) {
				return true
			}
		}
		return false
	}
	if len(names) == 0 {
		return false
	}
	ok, err := path.Match(parts[0], names[0])
	return err == nil && ok && matchParts(parts[1:], names[1:])
}
