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
		Long: `Rotate the key that signs join tokens and agents' credentials. Tokens and credentials of
the previous key remain valid until the next rotation, and agents that connect in the
meantime get new credentials. To invalidate everything signed before: rotate, wait until
all agents have connected, and rotate again.`,
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
	if ok, err := o.Agreed(ctx, o.Yes, "Rotate the key? Tokens and credentials from before the last rotation become invalid."); err != nil || !ok {
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
	return o.AnswerNote(rotated{true}, "Rotated the key. Agents get new credentials when they connect the next time.")
}
