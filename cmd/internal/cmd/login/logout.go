package login

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// NewLogout returns `det-deploy logout`.
func NewLogout(s *term.Streams) *cobra.Command {
	return command.New(s, &command.Remote{}, runLogout, &cobra.Command{
		Use: "logout", Short: "End the session with a cluster", Example: "  det-deploy logout",
	})
}

func runLogout(ctx context.Context, o *command.Remote) error {
	c, named, err := o.Resolve(o.Streams)
	if err != nil {
		return err
	}
	if !named || c.Token == "" {
		return o.AnswerNote(c, "Not logged in to %s.", c.Master)
	}
	master, err := c.Client()
	if err != nil {
		return err
	}
	defer master.Close()
	// An unknown session has already ended.
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
	return o.AnswerNote(c, "Logged out of %s.", c.Master)
}
