package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func newList(s *term.Streams) *cobra.Command {
	return command.New(s, &command.Local{}, runList, &cobra.Command{
		Use: "list", Short: "List contexts", Example: "  det-deploy context list",
	})
}

// listed is the JSON output of list.
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
	t := term.NewTable("CURRENT", "NAME", "MASTER", "USER", "CLUSTER")
	for _, c := range b.Contexts {
		mark := ""
		if c.Name == b.Current {
			mark = "*"
		}
		t.Row(mark, c.Name, c.Master, c.User, c.Cluster)
	}
	return o.AnswerTable(listed{b.Current, append([]contexts.Context{}, b.Contexts...)}, t)
}
