package project

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type createOptions struct {
	command.Remote

	Description string
	Key         string
}

func newCreate(s *term.Streams) *cobra.Command {
	o := &createOptions{}
	o.Nouns = []client.Noun{client.Workspaces}
	c := command.NewRemote(s, o, runCreate, &cobra.Command{
		Use: "create WORKSPACE NAME", Short: "Create a project in a workspace",
		Example: "  det-deploy project create vision faces --description \"Detection of faces\"",
	})
	c.Flags().StringVar(&o.Description, "description", "", "description")
	c.Flags().StringVar(&o.Key, "project-key", "", "unique key of at most five letters and digits (default from the name)")
	return c
}

func runCreate(ctx context.Context, o *createOptions, master *client.Client) error {
	workspace, err := command.ReadNumber("workspace", o.Args[0])
	if err != nil {
		return err
	}
	p, err := master.CreateProject(ctx, &apiv1.PostProjectRequest{WorkspaceId: workspace, Name: o.Args[1], Description: o.Description, Key: o.Key})
	if err != nil {
		return err
	}
	return o.AnswerNote(p, "Created project %s (ID %d).", pathOf(p), p.GetId())
}
