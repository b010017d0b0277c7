package context

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type listOptions struct {
	*term.Streams

	Output term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the known clusters",
		Example: "  det-deploy context list",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.Output.AddFlag(c.Flags())
	return c
}

// listed is the JSON form.
type listed struct {
	Current  string             `json:"current"`
	Contexts []contexts.Context `json:"contexts"`
}

func runList(_ context.Context, o *listOptions) error {
	_, b, err := loadContexts(o.Streams)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(listed{b.Current, append([]contexts.Context{}, b.Contexts...)})
	}
	t := term.NewTable("CURRENT", "NAME", "MASTER", "USER", "CLUSTER")
	for _, c := range b.Contexts {
		mark := ""
		if c.Name == b.Current {
			mark = "*"
		}
		t.Row(mark, c.Name, c.Master, c.User, c.Cluster)
	}
	return o.PrintTable(t)
}
