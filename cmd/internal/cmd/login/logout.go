package login

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type logoutOptions struct {
	*term.Streams
	contexts.Target

	Output term.Format
}

// NewLogout returns `det-deploy logout`.
func NewLogout(s *term.Streams) *cobra.Command { return newLogout(s, runLogout) }

func newLogout(s *term.Streams, run func(context.Context, *logoutOptions) error) *cobra.Command {
	o := &logoutOptions{Streams: s}
	c := &cobra.Command{
		Use:     "logout",
		Short:   "End the session with a cluster",
		Example: "  det-deploy logout",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runLogout(ctx context.Context, o *logoutOptions) error {
	c, named, err := o.Resolve(o.Streams)
	if err != nil {
		return err
	}
	if !named || c.Token == "" {
		return o.tell(c, "There is no session with %s.")
	}
	master, err := c.Client()
	if err != nil {
		return err
	}
	defer master.Close()
	// A session that the master has forgotten is ended already.
	if err := master.Logout(ctx); err != nil && client.KindOf(err) != client.Unauthenticated {
		return err
	}
	f, err := contexts.Default(o.Getenv)
	if err != nil {
		return err
	}
	err = f.Change(ctx, func(b *contexts.Book) error {
		c.User, c.Token = "", ""
		b.Put(c)
		return nil
	})
	if err != nil {
		return err
	}
	return o.tell(c, "Logged out of %s.")
}

// tell says how things are with c now.
func (o *logoutOptions) tell(c contexts.Context, sentence string) error {
	if o.Output == term.JSON {
		return o.PrintJSON(c)
	}
	o.Notef(sentence, c.Master)
	return nil
}
