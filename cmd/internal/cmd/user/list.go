package user

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

	All bool
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.User]{
		Fetch: func(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.User, error) {
			return master.Users(ctx, o.All)
		},
		Reply: func(users []*apiv1.User) any { return &apiv1.GetUsersResponse{Users: users} },
		Columns: []command.Column[*apiv1.User]{
			{Head: "NAME", Value: func(x *apiv1.User) any { return x.GetUsername() }},
			{Head: "DISPLAY NAME", Rank: 3, Shortest: 12, Value: func(x *apiv1.User) any { return x.GetDisplayName() }},
			{Head: "ADMIN", Rank: 1, Value: func(x *apiv1.User) any { return show.YesNo(x.GetAdmin()) }},
			{Head: "ACTIVE", Rank: 1, Value: func(x *apiv1.User) any { return show.YesNo(x.GetActive()) }},
			{Head: "RUNS AS", Rank: 4, Shortest: 8, Value: func(x *apiv1.User) any { return x.GetAgentUserGroup().GetAgentUser() }},
			{Head: "LAST LOGIN", Rank: 2, Value: func(x *apiv1.User) any { return show.When(x.GetLastAuthAt()) }},
		},
	}, &cobra.Command{
		Use: "list", Short: "List users", Example: "  det-deploy user list --all",
	})
	c.Flags().BoolVarP(&o.All, "all", "a", false, "include inactive users")
	return c
}

func newWhoami(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runWhoami, &cobra.Command{
		Use: "whoami", Short: "Print the logged-in user", Example: "  det-deploy user whoami",
	})
}

func runWhoami(ctx context.Context, o *command.Remote, master *client.Client) error {
	me, err := master.Me(ctx)
	if err != nil {
		return err
	}
	return o.AnswerLine(me, "%s", me.GetUsername())
}
