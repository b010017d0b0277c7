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

func TestMessagesSpellCommands(t *testing.T) {
	t.Parallel()
	for hint, want := range map[string]string{
		"det-deploy local up, or det-deploy login USER":                     "./bin/det-deploy local up, or ./bin/det-deploy login USER",
		"sudo det-deploy master install":                                    "sudo ./bin/det-deploy master install",
		"run it under another supervisor: det-deploy agent run":             "run it under another supervisor: ./bin/det-deploy agent run",
		"use the det-deploy that last ran `up`; `det-deploy version` tells": "use the det-deploy that last ran `up`; `./bin/det-deploy version` tells",
		"`det-deploy aws list` lists clusters, `kubectl get` others":        "`./bin/det-deploy aws list` lists clusters, `kubectl get` others",
		"write it to /usr/local/bin/det-deploy as root":                     "write it to /usr/local/bin/det-deploy as root",
	} {
		s, _, said := Test("", false)
		s.program = "./bin/det-deploy"
		s.PrintError([]string{"wrong"}, hint)
		if got := said.String(); got != "error: wrong\n  try: "+want+"\n" {
			t.Errorf("got %q, want %q", got, want)
		}
		s.program = ""
		if got := s.spellHint(hint); got != hint {
			t.Errorf("on PATH: got %q, want %q", got, hint)
		}
	}
	s, _, said := Test("", false)
	s.program = "/opt/a$b/det-deploy"
	s.Notef("`det-deploy local up` starts %s.", "it")
	if got, want := said.String(), "`/opt/a$b/det-deploy local up` starts it.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
