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
	return c
}

func runLogout(ctx context.Context, o *logoutOptions) error {
	c, named, err := o.Resolve(o.Streams)
	if err != nil {
		return err
	}
	if !named || c.Token == "" {
		o.Notef("There is no session with %s.", c.Master)
		return nil
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
	if err == nil {
		o.Notef("Logged out of %s.", c.Master)
	}
	return err
}
