package template

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote

	// workspaces maps the IDs of workspaces to their names.
	workspaces map[int32]string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	return command.NewList(s, o, command.List[*listOptions, *apiv1.Template]{
		Fetch: func(ctx context.Context, o *listOptions, master *client.Client) (list []*apiv1.Template, err error) {
			if o.workspaces, err = master.WorkspaceNames(ctx); err != nil {
				return nil, err
			}
			return master.Templates(ctx)
		},
		Reply: reply,
		Columns: []command.Column[*apiv1.Template]{
			{Head: "NAME", Value: func(x *apiv1.Template) any { return x.GetName() }},
			{Head: "WORKSPACE", Rank: 2, Shortest: 12, Value: func(x *apiv1.Template) any { return o.workspaces[x.GetWorkspaceId()] }},
			{Head: "SETS", Rank: 1, Shortest: 20, Value: func(x *apiv1.Template) any {
				return strings.Join(slices.Sorted(maps.Keys(x.GetConfig().GetFields())), ", ")
			}},
		},
		None: "No templates found.",
	}, &cobra.Command{
		Use: "list", Short: "List templates by name", Example: "  det-deploy template list",
	})
}
