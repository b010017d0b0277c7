package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/event"
)

// onDarwin returns the commands as they are on macOS.
func onDarwin() *cobra.Command {
	s, _, _ := term.Test("", false)
	root := New(s)
	refuseLinuxCommands(root, "darwin")
	return root
}

func TestDarwinRefusesRoles(t *testing.T) {
	t.Parallel()
	for line, command := range map[string]string{
		"local":                      "det-deploy local",
		"local up --yes":             "det-deploy local up",
		"local backup x.tar":         "det-deploy local backup",
		"up":                         "det-deploy up",
		"master run --config-file x": "det-deploy master run",
		"master install --print":     "det-deploy master install",
		"agent run":                  "det-deploy agent run",
		"agent uninstall":            "det-deploy agent uninstall",
		"host run":                   "det-deploy host run",
		"pod init":                   "det-deploy pod init",
	} {
		root := onDarwin()
		root.SetArgs(strings.Fields(line))
		err := root.ExecuteContext(t.Context())
		want := command + " needs Linux: masters and agents do not run on this system"
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
		if hint := event.Hint(err); !strings.Contains(hint, "aws up") {
			t.Errorf("%s: the hint is %q", line, hint)
		}
	}
}

func TestDarwinKeepsClientsAndInstallers(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"aws up", "k8s install", "gcp down", "list", "task run", "master info", "agent list", "master config validate"} {
		c, _, err := onDarwin().Find(strings.Fields(line))
		if err != nil || c.Hidden {
			t.Errorf("%s: got %v, hidden %v", line, err, c.Hidden)
		}
	}
	var help bytes.Buffer
	root := onDarwin()
	root.SetOut(&help)
	root.SetArgs([]string{"--help"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := help.String(); strings.Contains(text, "\n  local ") || !strings.Contains(text, "\n  aws ") {
		t.Errorf("got %s", text)
	}
}
