package user

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	*term.Streams
	contexts.Target

	All    bool
	Output term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the users",
		Example: "  det-deploy user list --all",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().BoolVarP(&o.All, "all", "a", false, "include inactive users")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runList(ctx context.Context, o *listOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	users, err := master.Users(ctx, o.All)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(&apiv1.GetUsersResponse{Users: users})
	}
	t := term.NewTable("USER", "NAME", "ADMIN", "ACTIVE", "RUNS AS", "LAST LOGIN")
	for _, u := range users {
		last := ""
		if u.GetLastAuthAt() != nil {
			last = u.GetLastAuthAt().AsTime().Local().Format(time.DateTime)
		}
		t.Row(u.GetUsername(), u.GetDisplayName(), yesOrNo(u.GetAdmin()), yesOrNo(u.GetActive()), u.GetAgentUserGroup().GetAgentUser(), last)
	}
	return o.PrintTable(t)
}
