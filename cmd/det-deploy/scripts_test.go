package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func TestEveryCommandIsInAScript(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got scripts %q, %v", paths, err)
	}
	var all strings.Builder
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(strings.ReplaceAll(string(raw), "\n", " \n"))
	}
	s, _, _ := term.Test("", false)
	for _, c := range leaves(cmd.New(s)) {
		if !strings.Contains(all.String(), " "+c.CommandPath()+" ") {
			t.Errorf("no script runs %q", c.CommandPath())
		}
	}
}

// leaves returns the visible commands without subcommands.
func leaves(c *cobra.Command) []*cobra.Command {
	switch {
	case c.Hidden || c.Name() == "help" || c.Name() == "completion": // one shell's is in a script; cobra writes them all
		return nil
	case !c.HasSubCommands():
		return []*cobra.Command{c}
	}
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		all = append(all, leaves(sub)...)
	}
	return all
}
