package cmd

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster/local"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// newUp returns the hidden `det-deploy up`, which is `det-deploy local up` with a note.
func newUp(s *term.Streams) *cobra.Command {
	noun := local.New(s)
	up, _, err := noun.Find([]string{"up"})
	if err != nil {
		panic(err) // the platform has the verb
	}
	noun.RemoveCommand(up)
	run := up.RunE
	up.RunE = func(c *cobra.Command, args []string) error {
		s.Notef("This is `det-deploy local up`; elsewhere: `aws up`, `gcp up`, `k8s install`.")
		return run(c, args)
	}
	up.Hidden = true
	return up
}
