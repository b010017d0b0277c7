package model

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote
	client.ModelQuery

	// workspaces maps the IDs of workspaces to their names.
	workspaces map[int32]string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Model]{
		Fetch:   fetchModels,
		Reply:   func(list []*apiv1.Model) any { return &apiv1.GetModelsResponse{Models: list} },
		Columns: o.columns(),
		Filters: []command.Filter{{Column: "USER", Noun: client.Users}},
		None:    "No models found.",
	}, &cobra.Command{
		Use: "list", Short: "List the models of the registry, oldest first",
		Example: "  det-deploy model list\n  det-deploy model list --workspace vision --label production --output json",
	})
	f := c.Flags()
	f.StringSliceVar(&o.Workspaces, "workspace", nil, "show only models of these workspaces")
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "show only models with all of these labels")
	f.BoolVar(&o.Archived, "archived", false, "include archived models")
	o.CompleteFlag(c, "workspace", client.Workspaces)
	return c
}

func fetchModels(ctx context.Context, o *listOptions, master *client.Client) (list []*apiv1.Model, err error) {
	if o.workspaces, err = master.WorkspaceNames(ctx); err != nil {
		return nil, err
	}
	query := o.ModelQuery
	query.Workspaces = nil
	for _, text := range o.Workspaces {
		id, err := command.ResolveNumber(ctx, master, client.Workspaces, text)
		if err != nil {
			return nil, err
		}
		query.Workspaces = append(query.Workspaces, o.workspaces[id])
	}
	return master.Models(ctx, query)
}

func (o *listOptions) columns() []command.Column[*apiv1.Model] {
	return []command.Column[*apiv1.Model]{
		{Head: ">ID", Value: func(x *apiv1.Model) any { return x.GetId() }},
		{Head: "NAME", Rank: 1, Shortest: 16, Value: func(x *apiv1.Model) any { return x.GetName() }},
		{Head: "USER", Rank: 4, Shortest: 8, Value: func(x *apiv1.Model) any { return x.GetUsername() }},
		{Head: "WORKSPACE", Rank: 5, Shortest: 12, Value: func(x *apiv1.Model) any { return o.workspaces[x.GetWorkspaceId()] }},
		{Head: ">VERSIONS", Rank: 2, Value: func(x *apiv1.Model) any { return x.GetNumVersions() }},
		{Head: "LABELS", Rank: 6, Shortest: 12, Value: func(x *apiv1.Model) any { return strings.Join(x.GetLabels(), ", ") }},
		{Head: "UPDATED", Rank: 3, Value: func(x *apiv1.Model) any { return show.When(x.GetLastUpdatedTime()) }},
		{Head: "DESCRIPTION", Rank: 7, Shortest: 16, Value: func(x *apiv1.Model) any { return x.GetDescription() }},
	}
}
