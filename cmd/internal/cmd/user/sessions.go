package user

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// newSessions returns `det-deploy user sessions`.
func newSessions(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "sessions", "Manage sessions", "  det-deploy user sessions list\n  det-deploy user sessions end all",
		newSessionsList, newSessionsEnd)
}

type sessionsOptions struct {
	command.Remote

	User string
}

func (o *sessionsOptions) addUser(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&o.User, "user", "", "owner of the sessions, for administrators (default yourself)")
	o.CompleteFlag(c, "user", client.Users)
	return c
}

// findUser returns the user of --user, or the caller.
func (o *sessionsOptions) findUser(ctx context.Context, master *client.Client) (*apiv1.User, error) {
	if o.User == "" {
		return master.Me(ctx)
	}
	return master.User(ctx, o.User)
}

func newSessionsList(s *term.Streams) *cobra.Command {
	o := &sessionsOptions{}
	return o.addUser(command.NewList(s, o, command.List[*sessionsOptions, *apiv1.Session]{
		Fetch: fetchSessions,
		Reply: func(list []*apiv1.Session) any { return &apiv1.GetSessionsResponse{Sessions: list} },
		Columns: []command.Column[*apiv1.Session]{
			{Head: "ID", Value: func(x *apiv1.Session) any { return x.GetId() }},
			{Head: "FROM", Rank: 1, Shortest: 15, Value: func(x *apiv1.Session) any { return origin(x) }},
			{Head: "AGE", Rank: 4, Value: func(x *apiv1.Session) any { return show.When(x.GetCreatedAt()) }},
			{Head: "LAST USED", Rank: 2, Value: func(x *apiv1.Session) any { return show.When(x.GetLastUsedAt()) }},
			{Head: "EXPIRES", Rank: 5, Value: func(x *apiv1.Session) any { return show.When(x.GetExpiresAt()) }},
			{Head: "CURRENT", Rank: 3, Value: func(x *apiv1.Session) any { return current(x) }},
		},
		None: "No sessions found.",
	}, &cobra.Command{
		Use:   "list",
		Short: "List your sessions, or another user's as an administrator",
		Long: `List your sessions and the tokens of your tools inside tasks, newest first. The time of
the last use has a precision of ten minutes.`,
		Example: "  det-deploy user sessions list\n  det-deploy user sessions list --user ada",
	}))
}

func fetchSessions(ctx context.Context, o *sessionsOptions, master *client.Client) ([]*apiv1.Session, error) {
	u, err := o.findUser(ctx, master)
	if err != nil {
		return nil, err
	}
	return master.Sessions(ctx, u.GetId())
}

// origin returns where a session was started.
func origin(s *apiv1.Session) string {
	if s.GetAllocationId() != "" {
		return "allocation " + s.GetAllocationId()
	}
	return cmp.Or(s.GetAddress(), "unknown")
}

func current(s *apiv1.Session) string {
	if s.GetCurrent() {
		return "yes"
	}
	return ""
}

func newSessionsEnd(s *term.Streams) *cobra.Command {
	o := &sessionsOptions{}
	return o.addUser(command.NewRemote(s, o, runSessionsEnd, &cobra.Command{
		Use:   "end SESSION",
		Short: "End sessions",
		Long: `End one of your sessions or the token of your tools inside a task. The argument all ends
all of them, including the current session. Tasks continue.`,
		Example: "  det-deploy user sessions end 0f3a9c2b7d51e846\n  det-deploy user sessions end all --user ada",
	}))
}

// ended is the JSON output of end.
type ended struct {
	User  string `json:"user"`
	Ended int32  `json:"ended"`
}

func runSessionsEnd(ctx context.Context, o *sessionsOptions, master *client.Client) error {
	u, err := o.findUser(ctx, master)
	if err != nil {
		return err
	}
	n, err := master.EndSession(ctx, u.GetId(), o.Args[0])
	if err != nil {
		return err
	}
	return o.AnswerNote(ended{u.GetUsername(), n}, "Ended %s of %s.", term.Count(int(n), "session"), u.GetUsername())
}
