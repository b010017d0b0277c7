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
		Heads: []string{"NAME", "WORKSPACE", "SETS"},
		Row: func(t *apiv1.Template) []any {
			return []any{t.GetName(), o.workspaces[t.GetWorkspaceId()], strings.Join(slices.Sorted(maps.Keys(t.GetConfig().GetFields())), ", ")}
		},
	}, &cobra.Command{
		Use: "list", Short: "List templates by name", Example: "  det-deploy template list",
	})
}
