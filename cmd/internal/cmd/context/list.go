package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func newList(s *term.Streams) *cobra.Command {
	return command.New(s, &command.Local{Shows: true}, runList, &cobra.Command{
		Use: "list", Short: "List contexts", Example: "  det-deploy context list",
	})
}

// item is a context in the JSON output of list.
type item struct {
	contexts.Context

	Current bool `json:"current"`
}

// listed is version 1 of the JSON output of list.
type listed struct {
	Current  string             `json:"current"`
	Contexts []contexts.Context `json:"contexts"`
}

func runList(_ context.Context, o *command.Local) error {
	_, b, err := loadContexts(o.Streams)
	if err != nil {
		return err
	}
	if text := b.Overridden(o.Getenv, b.Current); text != "" {
		o.Tell("%s", text)
	}
	t := term.NewTable("NAME", "CURRENT", "MASTER", "USER", "CLUSTER")
	items := []item{}
	for _, c := range b.Contexts {
		mark := ""
		if c.Name == b.Current {
			mark = "*"
		}
		t.Row(c.Name, mark, c.Master, c.User, c.Cluster)
		items = append(items, item{c, c.Name == b.Current})
	}
	if o.Output == term.JSONv1 {
		return o.PrintJSON(listed{b.Current, append([]contexts.Context{}, b.Contexts...)})
	}
	return o.AnswerTable(show.List("Context", items), t)
}
