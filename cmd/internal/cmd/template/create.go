package template

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

	Workspace string
}

func newCreate(s *term.Streams) *cobra.Command {
	o := &createOptions{}
	c := command.NewRemote(s, o, runCreate, &cobra.Command{
		Use: "create NAME FILE", Short: "Create a template from a part of a configuration",
		Example: "  det-deploy template create gpu gpu.yaml\n  det-deploy template create gpu gpu.yaml --workspace vision",
	})
	c.Flags().StringVar(&o.Workspace, "workspace", "", "workspace of the template (default Uncategorized)")
	o.CompleteFlag(c, "workspace", client.Workspaces)
	return c
}

func runCreate(ctx context.Context, o *createOptions, master *client.Client) error {
	in := &apiv1.Template{Name: o.Args[0]}
	var err error
	if in.Config, err = command.ReadYAML(o.Args[1], "the template"); err != nil {
		return err
	}
	if o.Workspace != "" {
		if in.WorkspaceId, err = command.ResolveNumber(ctx, master, client.Workspaces, o.Workspace); err != nil {
			return err
		}
	}
	t, err := master.CreateTemplate(ctx, in)
	if err != nil {
		return err
	}
	return o.AnswerNote(t, "Created template %s.", t.GetName())
}

func newSet(s *term.Streams) *cobra.Command {
	o := &command.Remote{Nouns: []client.Noun{client.Templates}}
	return command.NewRemote(s, o, runSet, &cobra.Command{
		Use: "set TEMPLATE FILE", Short: "Replace the configuration of a template",
		Long: `Replace the configuration of a template. Tasks and experiments that were created with
it keep their configurations.`,
		Example: "  det-deploy template set gpu gpu.yaml",
	})
}

func runSet(ctx context.Context, o *command.Remote, master *client.Client) error {
	config, err := command.ReadYAML(o.Args[1], "the template")
	if err != nil {
		return err
	}
	t, err := master.SetTemplate(ctx, o.Args[0], config)
	if err != nil {
		return err
	}
	return o.AnswerNote(t, "Updated template %s.", t.GetName())
}
