package checkpoint

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type deleteOptions struct {
	command.Remote

	Yes bool
}

func newDelete(s *term.Streams) *cobra.Command {
	o := &deleteOptions{}
	o.Names = client.Checkpoints
	c := command.NewRemote(s, o, runDelete, &cobra.Command{
		Use:   "delete CHECKPOINT…",
		Short: "Delete checkpoints and their files",
		Long: `Delete checkpoints and their files: all named checkpoints, or none if one of them is in
use by a registered model version, a running trial, a trial that started from it, or a
download. A task in the experiment's image deletes the files; until it has ended, the
checkpoints have the state deleting.`,
		Example: "  det-deploy checkpoint delete 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a --yes",
	})
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	return c
}

func runDelete(ctx context.Context, o *deleteOptions, master *client.Client) error {
	question := fmt.Sprintf("Delete %s with all files? This is irreversible.", term.Count(len(o.Args), "checkpoint"))
	if ok, err := o.Agreed(ctx, o.Yes, question); err != nil || !ok {
		return err
	}
	if err := master.DeleteCheckpoints(ctx, o.Args...); err != nil {
		return err
	}
	o.Tell("Deleting the files of %s.", term.Count(len(o.Args), "checkpoint"))
	if o.Output.IsText() {
		return nil
	}
	list, err := command.ForEach(o.Args, func(id string) (*apiv1.Checkpoint, error) { return master.Checkpoint(ctx, id) })
	if err != nil {
		return err
	}
	return o.AnswerJSON(&apiv1.GetCheckpointsResponse{Checkpoints: list})
}
