package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type rotateKeysOptions struct {
	*term.Streams
	contexts.Target

	Yes    bool
	Output term.Format
}

func newRotateKeys(s *term.Streams, run func(context.Context, *rotateKeysOptions) error) *cobra.Command {
	o := &rotateKeysOptions{Streams: s}
	c := &cobra.Command{
		Use:   "rotate-keys",
		Short: "Rotate the key of join tokens and agents' credentials",
		Long: `Rotate the key of join tokens and agents' credentials. What the key before it
has signed stays good until the next rotation, and agents that connect meanwhile
get a new credential: rotate, let every agent connect, and rotate again to end
whatever was signed before.`,
		Example: "  det-deploy master rotate-keys\n  det-deploy master rotate-keys --yes --output json",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runRotateKeys(ctx context.Context, o *rotateKeysOptions) error {
	if ok, err := o.Agreed(ctx, o.Yes, "Make a new key? What was signed before the last rotation is refused from then on."); err != nil || !ok {
		return err
	}
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	if err := master.RotateKeys(ctx); err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(struct {
			Rotated bool `json:"rotated"`
		}{true})
	}
	o.Notef("The master signs with a new key. Agents get a new credential when they connect the next time.")
	return nil
}
