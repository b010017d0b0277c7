package cluster

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// NewDown returns `det-deploy down`.
func NewDown(s *term.Streams) *cobra.Command {
	o := &options{Streams: s, verb: "down"}
	c := &cobra.Command{
		Use:   "down",
		Short: "Remove a cluster",
		Long: `Remove a cluster, wherever it runs. Its data stays, with what opens it, unless
--delete-data says otherwise.`,
		Example: `  det-deploy down --cluster-id lab
  det-deploy down --cluster-id lab --delete-data --yes`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	f := c.Flags()
	o.addFlags(f)
	o.addConsent(f)
	f.Bool("delete-data", false, "also delete data (irreversible)")
	return c
}
