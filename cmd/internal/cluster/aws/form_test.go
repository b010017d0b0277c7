package aws

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/internal/document"
)

// The printed command line can be pasted into a shell.
func TestEquivalentCommandIsEquivalent(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "start.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, _ := term.Test("", false)
	w := selectUp(t, s, []string{
		"--cluster-id", "lab", "--profile", "work", "--binary", "arm64=./dd", "--spot", "--metrics=false", "--tag", "team=ann's lab",
		"--db-url", "env:DB_URL", "--startup-script-file", script, "--slots", "",
	})
	g, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	g.Flags = append(g.Flags, document.Given{Path: "pools.*.max_agents", Value: "3", Source: "--max-agents"})
	got := clouds.NewCompletion(w, &g).CommandLine()
	want := "det-deploy aws up --cluster-id lab --profile work --binary arm64=./dd --tag 'team=ann'\"'\"'s lab' --slots '' --metrics=false --db-url env:DB_URL" +
		" --spot=true --startup-script-file " + script + " --max-agents 3"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
