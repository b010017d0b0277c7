// Package release_test tests when a release is refused, and the form of the changelog.
package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/installed"
)

func TestReleaseNeedsATagAndItsSection(t *testing.T) {
	t.Parallel()
	const ready = "# Changelog\n\n# 0.2.0 (2026-12-01)\n\n## AWS\n\n# 0.1.0 (2026-11-29)\n"
	for name, tc := range map[string]struct {
		changelog, tag, version string
		dirty                   bool
		want                    string
	}{
		"ready":                {ready, "v0.2.0", "v0.2.0", false, ""},
		"no tag":               {ready, "", "1a2b3c4d", false, "cannot release 1a2b3c4d: a release needs a clean checkout of a tag"},
		"after the tag":        {ready, "v0.2.0", "v0.2.0-1-g1a2b3c4d", false, "needs a clean checkout of a tag"},
		"changed":              {ready, "v0.2.0", "v0.2.0", true, "this is not a clean checkout of the tag v0.2.0"},
		"a version of its own": {ready, "v0.2.0", "v0.3.0", false, "this is not a clean checkout of the tag v0.3.0"},
		"unreleased":           {"# Changelog\n\n# Unreleased\n", "v0.2.0", "v0.2.0", false, `is "# Unreleased"; name it "# 0.2.0 (2`},
		"another section":      {"# Changelog\n\n# 0.1.0 (2026-11-29)\n", "v0.2.0", "v0.2.0", false, `name it "# 0.2.0 (2`},
		"no date":              {"# Changelog\n\n# 0.2.0\n", "v0.2.0", "v0.2.0", false, `name it "# 0.2.0 (2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t, tc.changelog, tc.tag)
			if tc.dirty {
				write(t, dir, tc.changelog+"more\n")
			}
			script := exec.CommandContext(t.Context(), installed.InProject("test", "release", "tagged.sh"), tc.version)
			script.Dir = dir
			out, err := script.CombinedOutput()
			if (err == nil) != (tc.want == "") || !strings.Contains(string(out), tc.want) {
				t.Errorf("got %v: %s, want %q", err, out, tc.want)
			}
		})
	}
}

// checkout returns a repository with a changelog, and a tag unless it is empty.
func checkout(t *testing.T, changelog, tag string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, changelog)
	steps := [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message", "all"},
	}
	if tag != "" {
		steps = append(steps, []string{"tag", tag})
	}
	for _, args := range steps {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return dir
}

func write(t *testing.T, dir, changelog string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "docs", "changelog.md"), []byte(changelog), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The script reads the first section, so that sections of versions have one form.
func TestChangelogIsByVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(installed.InProject("docs", "changelog.md"))
	if err != nil {
		t.Fatal(err)
	}
	heads := regexp.MustCompile(`(?m)^# .*$`).FindAllString(string(text), -1)
	section := regexp.MustCompile(`^# \d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)$`)
	for i, h := range heads {
		switch {
		case i == 0 && h == "# Changelog", i == 1 && h == "# Unreleased", i > 0 && section.MatchString(h):
		default:
			t.Errorf("heading %d is %q, want Changelog, Unreleased, and versions such as \"# 0.1.0 (2026-11-29)\"", i, h)
		}
	}
	if len(heads) < 2 {
		t.Errorf("got %q, want a section of a version", heads)
	}
}
