package experiment

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type deleteOptions struct {
	command.Remote

	Yes bool
}

func newDelete(s *term.Streams) *cobra.Command {
	o := &deleteOptions{}
	c := command.NewRemote(s, o, runDelete, &cobra.Command{
		Use: "delete EXPERIMENT…", Short: "Delete ended experiments and their data",
		Long: `Delete ended experiments with their checkpoints, metrics and logs (irreversible). An
experiment cannot be deleted while its checkpoints are in use, for example by a model
version.`,
		Example: "  det-deploy experiment delete 7 --yes",
	})
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	return c
}

func runDelete(ctx context.Context, o *deleteOptions, master *client.Client) error {
	agreed, err := o.Agreed(ctx, o.Yes, "Delete experiment "+strings.Join(o.Args, ", ")+" with all checkpoints, metrics and logs?")
	if err != nil || !agreed {
		return err
	}
	remove := change{verb: "delete", done: "Deleting experiment %d.", do: func(ctx context.Context, master *client.Client, id int32) error {
		return master.DeleteExperiment(ctx, id)
	}}
	return remove.run(ctx, &o.Remote, master)
}
