package user

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// newSessions returns `det-deploy user sessions`.
func newSessions(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "sessions",
		Short:   "Manage logins",
		Example: "  det-deploy user sessions list\n  det-deploy user sessions end all",
	}
	c.AddCommand(newSessionsList(s, runSessionsList), newSessionsEnd(s, runSessionsEnd))
	return c
}

type sessionsOptions struct {
	*term.Streams
	contexts.Target

	User    string
	Session string
	Output  term.Format
}

func (o *sessionsOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.User, "user", "", "user who owns them; admins only (default: yourself)")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
}

// ask does something with the user whose sessions are meant.
func (o *sessionsOptions) ask(ctx context.Context, do func(master *client.Client, u *apiv1.User) error) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	u, err := o.whose(ctx, master)
	if err != nil {
		return err
	}
	return do(master, u)
}

func (o *sessionsOptions) whose(ctx context.Context, master *client.Client) (*apiv1.User, error) {
	if o.User == "" {
		return master.Me(ctx)
	}
	return master.User(ctx, o.User)
}

func newSessionsList(s *term.Streams, run func(context.Context, *sessionsOptions) error) *cobra.Command {
	o := &sessionsOptions{Streams: s}
	c := &cobra.Command{
		Use:   "list",
		Short: "List your logins, or as an admin another user's",
		Long: `List your logins and the tokens of your tools inside tasks, newest first. The last
use is shown to ten minutes.`,
		Example: "  det-deploy user sessions list\n  det-deploy user sessions list --user ada",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.addFlags(c)
	return c
}

func runSessionsList(ctx context.Context, o *sessionsOptions) error {
	return o.ask(ctx, func(master *client.Client, u *apiv1.User) error {
		list, err := master.Sessions(ctx, u.GetId())
		if err != nil {
			return err
		}
		return o.printSessions(list)
	})
}

func (o *sessionsOptions) printSessions(list []*apiv1.Session) error {
	if o.Output == term.JSON {
		return o.PrintMessage(&apiv1.GetSessionsResponse{Sessions: list})
	}
	t := term.NewTable("SESSION", "FROM", "SINCE", "LAST USED", "UNTIL", "")
	for _, s := range list {
		this := ""
		if s.GetCurrent() {
			this = "this one"
		}
		from := cmp.Or(s.GetAddress(), "unknown")
		if s.GetAllocationId() != "" {
			from = "allocation " + s.GetAllocationId()
		}
		t.Row(s.GetId(), from, localTime(s.GetCreatedAt()), localTime(s.GetLastUsedAt()), localTime(s.GetExpiresAt()), this)
	}
	return o.PrintTable(t)
}

func localTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

func newSessionsEnd(s *term.Streams, run func(context.Context, *sessionsOptions) error) *cobra.Command {
	o := &sessionsOptions{Streams: s}
	c := &cobra.Command{
		Use:   "end SESSION",
		Short: "Revoke logins of a user",
		Long: `End one of your logins or the token of your tools inside a task, or all of them
with the word all, also the one that asks. Tasks go on.`,
		Example: "  det-deploy user sessions end 0f3a9c2b7d51e846\n  det-deploy user sessions end all --user ada",
		Args:    usage.Args("SESSION"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Session = args[0]
			return run(c.Context(), o)
		},
	}
	o.addFlags(c)
	return c
}

func runSessionsEnd(ctx context.Context, o *sessionsOptions) error {
	return o.ask(ctx, func(master *client.Client, u *apiv1.User) error {
		n, err := master.EndSession(ctx, u.GetId(), o.Session)
		if err != nil {
			return err
		}
		if o.Output == term.JSON {
			return o.PrintJSON(struct {
				User  string `json:"user"`
				Ended int32  `json:"ended"`
			}{u.GetUsername(), n})
		}
		o.Notef("%d sessions of %s are ended.", n, u.GetUsername())
		return nil
	})
}
