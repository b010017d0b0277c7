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
		Fetch: fetchModels,
		Reply: func(list []*apiv1.Model) any { return &apiv1.GetModelsResponse{Models: list} },
		Heads: []string{">ID", "NAME", "USER", "WORKSPACE", ">VERSIONS", "LABELS", "UPDATED", "DESCRIPTION"},
		Row:   o.formatModel,
	}, &cobra.Command{
		Use: "list", Short: "List the models of the registry, oldest first",
		Example: "  det-deploy model list\n  det-deploy model list --workspace vision --label production --output json",
	})
	f := c.Flags()
	f.StringSliceVar(&o.Workspaces, "workspace", nil, "show only models of these workspaces")
	f.StringSliceVar(&o.Labels, "label", nil, "show only models with all of these labels")
	f.BoolVar(&o.Archived, "archived", false, "include archived models")
	o.CompleteFlag(c, "workspace", client.Workspaces)
	return c
}

func fetchModels(ctx context.Context, o *listOptions, master *client.Client) (list []*apiv1.Model, err error) {
	if o.workspaces, err = master.WorkspaceNames(ctx); err != nil {
		return nil, err
	}
	return master.Models(ctx, o.ModelQuery)
}

func (o *listOptions) formatModel(m *apiv1.Model) []any {
	return []any{
		m.GetId(), m.GetName(), m.GetUsername(), o.workspaces[m.GetWorkspaceId()], m.GetNumVersions(),
		strings.Join(m.GetLabels(), ", "), show.Time(m.GetLastUpdatedTime()), m.GetDescription(),
	}
}
