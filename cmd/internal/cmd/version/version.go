// Package version is the command that says which det-deploy this is.
package version

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

type options struct {
	*term.Streams

	Output term.Format
}

// New returns `det-deploy version`.
func New(s *term.Streams) *cobra.Command { return newVersion(s, run) }

func newVersion(s *term.Streams, run func(context.Context, *options) error) *cobra.Command {
	o := &options{Streams: s}
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  det-deploy version
  det-deploy version --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddFlag(c.Flags())
	return c
}

// info is the JSON form.
type info struct {
	build.Info

	// AgentProtocol is the version of the link between masters and agents.
	AgentProtocol int `json:"agent_protocol"`
}

func run(_ context.Context, o *options) error {
	i := info{build.Read(), agentv1.Protocol}
	if o.Output == term.JSON {
		return o.PrintJSON(i)
	}
	o.Printf("det-deploy %s %s %s", i.Version, i.Platform, i.Go)
	return nil
}
