package project

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote

	Workspaces []string
	Archived   bool
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Project]{
		Fetch: fetchProjects, Reply: func(list []*apiv1.Project) any { return reply(list) },
		Columns: []command.Column[*apiv1.Project]{
			{Head: ">ID", Value: func(x *apiv1.Project) any { return x.GetId() }},
			{Head: "NAME", Rank: 1, Shortest: 16, Value: func(x *apiv1.Project) any { return x.GetName() }},
			{Head: "WORKSPACE", Rank: 2, Shortest: 12, Value: func(x *apiv1.Project) any { return x.GetWorkspaceName() }},
			{Head: "USER", Rank: 4, Shortest: 8, Value: func(x *apiv1.Project) any { return x.GetUsername() }},
			{Head: "STATE", Rank: 3, Value: func(x *apiv1.Project) any { return stateOf(x) }},
			{Head: ">EXPERIMENTS", Rank: 3, Value: func(x *apiv1.Project) any { return x.GetNumExperiments() }},
			{Head: ">ACTIVE", Rank: 5, Value: func(x *apiv1.Project) any { return x.GetNumActiveExperiments() }},
			{Head: "LAST STARTED", Rank: 6, Value: func(x *apiv1.Project) any { return show.When(x.GetLastExperimentStartedAt()) }},
		},
		None: "No projects found.",
	}, &cobra.Command{
		Use: "list", Short: "List projects, oldest first",
		Example: "  det-deploy project list\n  det-deploy project list --workspace vision --output json",
	})
	c.Flags().StringSliceVar(&o.Workspaces, "workspace", nil, "show only projects of these workspaces")
	c.Flags().BoolVar(&o.Archived, "archived", false, "include archived projects")
	o.CompleteFlag(c, "workspace", client.Workspaces)
	return c
}

func fetchProjects(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Project, error) {
	if len(o.Workspaces) == 0 {
		return master.Projects(ctx, 0, o.Archived)
	}
	var all []*apiv1.Project
	for _, text := range o.Workspaces {
		id, err := command.ResolveNumber(ctx, master, client.Workspaces, text)
		if err != nil {
			return nil, err
		}
		list, err := master.Projects(ctx, id, o.Archived)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}
