package term

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrintedCommandIsRunnable(t *testing.T) {
	dir := t.TempDir()
	onPath, other := filepath.Join(dir, "det-deploy"), filepath.Join(t.TempDir(), "det-deploy")
	for _, path := range []string{onPath, other} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	for arg0, want := range map[string]string{
		"det-deploy":                "det-deploy",
		onPath:                      "det-deploy",
		other:                       other,
		"./bin/det-deploy":          "./bin/det-deploy",
		"/my programs/det-deploy":   "'/my programs/det-deploy'",
		"/ann's/bin dir/det-deploy": `'/ann'\''s/bin dir/det-deploy'`,
	} {
		s := &Streams{program: programName(arg0)}
		if got := s.Command("login ann"); got != want+" login ann" {
			t.Errorf("started as %s: got %q, want %q", arg0, got, want+" login ann")
		}
	}
}
