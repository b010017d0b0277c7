package workspace

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote

	Archived bool
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Workspace]{
		Fetch: func(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Workspace, error) {
			return master.Workspaces(ctx, o.Archived)
		},
		Reply: reply,
		Heads: []string{">ID", "NAME", "USER", "STATE", ">PROJECTS", ">EXPERIMENTS", "POOL"},
		Row: func(w *apiv1.Workspace) []any {
			return []any{
				w.GetId(), w.GetName(), w.GetUsername(), stateOf(w), w.GetNumProjects(), w.GetNumExperiments(), w.GetDefaultComputePool(),
			}
		},
	}, &cobra.Command{
		Use: "list", Short: "List workspaces, oldest first",
		Example: "  det-deploy workspace list\n  det-deploy workspace list --archived --output json",
	})
	c.Flags().BoolVar(&o.Archived, "archived", false, "include archived workspaces")
	return c
}
