package model

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

	Workspace   string
	Description string
	Notes       string
	Labels      []string
}

func newCreate(s *term.Streams) *cobra.Command {
	o := &createOptions{}
	c := command.NewRemote(s, o, runCreate, &cobra.Command{
		Use: "create NAME", Short: "Create a model without versions",
		Example: "  det-deploy model create digits --workspace vision --label production",
	})
	f := c.Flags()
	f.StringVar(&o.Workspace, "workspace", "", "workspace of the model (default Uncategorized)")
	f.StringVar(&o.Description, "description", "", "description")
	f.StringVar(&o.Notes, "notes", "", "notes")
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "labels")
	o.CompleteFlag(c, "workspace", client.Workspaces)
	return c
}

func runCreate(ctx context.Context, o *createOptions, master *client.Client) error {
	in := &apiv1.PostModelRequest{Name: o.Args[0], Description: o.Description, Notes: o.Notes, Labels: o.Labels}
	if o.Workspace != "" {
		var err error
		if in.WorkspaceId, err = command.ResolveNumber(ctx, master, client.Workspaces, o.Workspace); err != nil {
			return err
		}
	}
	m, err := master.CreateModel(ctx, in)
	if err != nil {
		return err
	}
	return o.AnswerNote(m, "Created model %s.", m.GetName())
}
