// Package version implements the command that prints the version of det-deploy.
package version

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// New returns `det-deploy version`.
func New(s *term.Streams) *cobra.Command {
	return command.New(s, &command.Local{}, run, &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  det-deploy version
  det-deploy version --output json`,
	})
}

// Number returns the version of det-deploy.
func Number() string { return build.Read().Version }

// info is the JSON output of version.
type info struct {
	build.Info

	// AgentProtocol is the version of the protocol between masters and agents.
	AgentProtocol int `json:"agent_protocol"`
}

func run(_ context.Context, o *command.Local) error {
	i := info{build.Read(), agentv1.Protocol}
	return o.AnswerLine(i, "det-deploy %s %s %s", i.Version, i.Platform, i.Go)
}
