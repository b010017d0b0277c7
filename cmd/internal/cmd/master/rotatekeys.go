package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type rotateKeysOptions struct {
	command.Remote

	Yes bool
}

func newRotateKeys(s *term.Streams) *cobra.Command {
	o := &rotateKeysOptions{}
	c := command.New(s, o, runRotateKeys, &cobra.Command{
		Use:   "rotate-keys",
		Short: "Rotate the key of join tokens and agents' credentials",
		Long: `Rotate the key of join tokens and agents' credentials. What the key before it
has signed stays good until the next rotation, and agents that connect meanwhile
get a new credential: rotate, let every agent connect, and rotate again to end
whatever was signed before.`,
		Example: "  det-deploy master rotate-keys\n  det-deploy master rotate-keys --yes --output json",
	})
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	return c
}

// rotated is the JSON output of rotate-keys.
type rotated struct {
	Rotated bool `json:"rotated"`
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
	return o.AnswerNote(rotated{true}, "The master signs with a new key. Agents get a new credential when they connect the next time.")
}
