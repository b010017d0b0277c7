package model

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type registerOptions struct {
	command.Remote

	Name    string
	Comment string
	Notes   string
	Labels  []string
}

func newRegister(s *term.Streams) *cobra.Command {
	o := &registerOptions{}
	o.Nouns = []client.Noun{client.Models, client.Checkpoints}
	c := command.NewRemote(s, o, runRegister, &cobra.Command{
		Use: "register MODEL CHECKPOINT", Short: "Register a checkpoint as the next version of a model",
		Long: `Register a checkpoint as the next version of a model. The checkpoint is kept for as
long as the version exists.`,
		Example: "  det-deploy model register digits 5d1f6f2e --comment \"trained on all data\"",
	})
	f := c.Flags()
	f.StringVar(&o.Name, "name", "", "name of the version")
	f.StringVar(&o.Comment, "comment", "", "comment")
	f.StringVar(&o.Notes, "notes", "", "notes")
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "labels")
	return c
}

func runRegister(ctx context.Context, o *registerOptions, master *client.Client) error {
	v, err := master.RegisterVersion(ctx, &apiv1.PostModelVersionRequest{
		ModelName: o.Args[0], CheckpointUuid: o.Args[1], Name: o.Name, Comment: o.Comment, Notes: o.Notes, Labels: o.Labels,
	})
	if err != nil {
		return err
	}
	return o.AnswerNote(v, "Registered checkpoint %s as version %d of model %s.", o.Args[1], v.GetVersion(), v.GetModel().GetName())
}
