package cluster

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// NewStatus returns `det-deploy status`.
func NewStatus(s *term.Streams) *cobra.Command {
	o := &options{Streams: s, verb: "status"}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show cluster status",
		Example: `  det-deploy status --cluster-id lab
  det-deploy status --cluster-id lab --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.addFlags(c.Flags())
	return c
}
