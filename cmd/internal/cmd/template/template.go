// Package template implements the commands that manage templates of configurations.
package template

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy template`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "template", "Manage templates of configurations", "  det-deploy template list\n  det-deploy template create gpu gpu.yaml",
		newList, newDescribe, newCreate, newSet, newDelete)
}

func fetchTemplate(ctx context.Context, master *client.Client, name string) (*apiv1.Template, error) {
	return master.Template(ctx, name)
}

func reply(list []*apiv1.Template) any { return &apiv1.GetTemplatesResponse{Templates: list} }

func newDelete(s *term.Streams) *cobra.Command {
	return command.NewChange(s, command.Change[*apiv1.Template]{
		Names: client.Templates, Fetch: fetchTemplate, Reply: reply,
		Ask: func(list []*apiv1.Template) string {
			var names []string
			for _, t := range list {
				names = append(names, t.GetName())
			}
			return "Delete template " + strings.Join(names, ", ") + "? This is irreversible."
		},
		Do: func(ctx context.Context, master *client.Client, t *apiv1.Template) (*apiv1.Template, string, error) {
			return t, fmt.Sprintf("Deleted template %s.", t.GetName()), master.DeleteTemplate(ctx, t.GetName())
		},
	}, &cobra.Command{
		Use: "delete TEMPLATE…", Aliases: []string{"rm"}, Short: "Delete templates",
		Long:    "Delete templates. Tasks and experiments that were created with them keep their configurations.",
		Example: "  det-deploy template delete gpu --yes",
	})
}
