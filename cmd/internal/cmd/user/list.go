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
		Heads: []string{"USER", "NAME", "ADMIN", "ACTIVE", "RUNS AS", "LAST LOGIN"},
		Row: func(u *apiv1.User) []any {
			return []any{
				u.GetUsername(), u.GetDisplayName(), show.YesNo(u.GetAdmin()), show.YesNo(u.GetActive()),
				u.GetAgentUserGroup().GetAgentUser(), show.Time(u.GetLastAuthAt()),
			}
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
