package cluster

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// NewUpgrade returns `det-deploy upgrade`.
func NewUpgrade(s *term.Streams) *cobra.Command {
	o := &options{Streams: s, verb: "upgrade"}
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade a cluster to this version",
		Long: `Bring a cluster to the det-deploy that is typed, with a way back until the new
master serves. What that means where it runs, the platform's own command says:
det-deploy aws upgrade, det-deploy k8s upgrade, det-deploy local upgrade.`,
		Example: "  det-deploy upgrade --cluster-id lab",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.addFlags(c.Flags())
	o.addConsent(c.Flags())
	return c
}
