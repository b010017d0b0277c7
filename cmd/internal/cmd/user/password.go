package user

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// password is where a new password comes from.
type password struct {
	Stdin bool
}

func (p *password) addFlag(c *cobra.Command) {
	c.Flags().BoolVar(&p.Stdin, "password-stdin", false, "read the password from standard input")
}

// readTwice asks twice, because what is typed is not shown.
func (p *password) readTwice(ctx context.Context, s *term.Streams, user string) (string, error) {
	if p.Stdin {
		return s.ReadSecret()
	}
	first, err := s.Password(ctx, term.Question{Text: "New password for " + user + ":", Flag: "--password-stdin"})
	if err != nil {
		return "", err
	}
	second, err := s.Password(ctx, term.Question{Text: "The same again:", Flag: "--password-stdin"})
	if err != nil {
		return "", err
	}
	if first != second {
		return "", usage.Errorf("the two passwords are different; nothing was changed")
	}
	return first, nil
}

type passwordOptions struct {
	*term.Streams
	contexts.Target
	password

	Name   string
	Output term.Format
}

func newPassword(s *term.Streams, run func(context.Context, *passwordOptions) error) *cobra.Command {
	o := &passwordOptions{Streams: s}
	c := &cobra.Command{
		Use:   "change-password [USER]",
		Short: "Change your password, or as an admin another user's",
		Long: `Change your password, or as an admin another user's. To change your own you are
asked for the old one, too. With --password-stdin the old one is not read: log
in again first, and change it within ten minutes.

It ends the logins of the user, and the tokens of their tools inside tasks.`,
		Example: "  det-deploy user change-password\n  det-deploy user change-password ada",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Name = args[0]
			}
			return run(c.Context(), o)
		},
	}
	o.addFlag(c)
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runPassword(ctx context.Context, o *passwordOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	me, err := master.Me(ctx)
	if err != nil {
		return err
	}
	o.Name = cmp.Or(o.Name, me.GetUsername())
	hashed := true
	change := &apiv1.PatchUser{IsHashed: &hashed}
	if strings.EqualFold(o.Name, me.GetUsername()) && !o.Stdin {
		old, err := o.Password(ctx, term.Question{Text: "Old password of " + o.Name + ":", Flag: "--password-stdin"})
		if err != nil {
			return err
		}
		change.CurrentPassword = new(client.HashPassword(old))
	}
	secret, err := o.readTwice(ctx, o.Streams, o.Name)
	if err != nil {
		return err
	}
	change.Password = new(client.HashPassword(secret))
	u, err := patchUser(ctx, o.Streams, o.Target, o.Name, change)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(u)
	}
	o.Notef("The password of %s is changed.", o.Name)
	return nil
}
