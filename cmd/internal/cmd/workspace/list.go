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
		Columns: []command.Column[*apiv1.Workspace]{
			{Head: ">ID", Value: func(x *apiv1.Workspace) any { return x.GetId() }},
			{Head: "NAME", Rank: 1, Shortest: 16, Value: func(x *apiv1.Workspace) any { return x.GetName() }},
			{Head: "USER", Rank: 4, Shortest: 8, Value: func(x *apiv1.Workspace) any { return x.GetUsername() }},
			{Head: "STATE", Rank: 2, Value: func(x *apiv1.Workspace) any { return stateOf(x) }},
			{Head: ">PROJECTS", Rank: 3, Value: func(x *apiv1.Workspace) any { return x.GetNumProjects() }},
			{Head: ">EXPERIMENTS", Rank: 3, Value: func(x *apiv1.Workspace) any { return x.GetNumExperiments() }},
			{Head: "POOL", Rank: 5, Shortest: 8, Value: func(x *apiv1.Workspace) any { return x.GetDefaultComputePool() }},
		},
		None: "No workspaces found.",
	}, &cobra.Command{
		Use: "list", Short: "List workspaces, oldest first",
		Example: "  det-deploy workspace list\n  det-deploy workspace list --archived --output json",
	})
	c.Flags().BoolVar(&o.Archived, "archived", false, "include archived workspaces")
	return c
}
