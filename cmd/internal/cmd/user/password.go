package user

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/master/api/password"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// passwordSource selects the source of a new password.
type passwordSource struct {
	Stdin bool
}

func (p *passwordSource) addFlag(c *cobra.Command) {
	c.Flags().BoolVar(&p.Stdin, "password-stdin", false, "read the password from standard input")
}

// readTwice prompts twice because the input is not shown.
func (p *passwordSource) readTwice(ctx context.Context, s *term.Streams, user string) (string, error) {
	if p.Stdin {
		secret, err := s.ReadSecret()
		if err != nil {
			return "", err
		}
		return secret, checkRule(secret)
	}
	first, err := s.Password(ctx, term.Question{Text: "New password for " + user + ":", Flag: "--password-stdin"})
	if err != nil {
		return "", err
	}
	if err := checkRule(first); err != nil {
		return "", err
	}
	second, err := s.Password(ctx, term.Question{Text: "Repeat the password:", Flag: "--password-stdin"})
	if err != nil {
		return "", err
	}
	if first != second {
		return "", usage.Errorf("the passwords do not match; nothing was changed")
	}
	return first, nil
}

// checkRule returns an error if a new password violates the password rule. It runs before hashing because
// the master receives only the hash. The master decides whether an empty password is allowed.
func checkRule(secret string) error {
	if secret != "" && !password.Strong(secret) {
		return usage.Errorf("the password %s; nothing was changed", password.Rule)
	}
	return nil
}

type passwordOptions struct {
	command.Remote
	passwordSource
}

func newPassword(s *term.Streams) *cobra.Command {
	o := &passwordOptions{}
	o.Names = client.Users
	c := command.NewRemote(s, o, runPassword, &cobra.Command{
		Use:   "change-password [USER]",
		Short: "Change your password, or another user's as an administrator",
		Long: `Change your password, or another user's as an administrator. For your own, the current
password is required. With --password-stdin it is not read; instead, you must have logged
in within the last ten minutes.

The user's sessions and the tokens of their tools inside tasks end.`,
		Example: "  det-deploy user change-password\n  det-deploy user change-password ada",
		Args:    cobra.MaximumNArgs(1),
	})
	o.addFlag(c)
	return c
}

func runPassword(ctx context.Context, o *passwordOptions, master *client.Client) error {
	me, err := master.Me(ctx)
	if err != nil {
		return err
	}
	name := cmp.Or(strings.Join(o.Args, ""), me.GetUsername())
	hashed := true
	change := &apiv1.PatchUser{IsHashed: &hashed}
	if strings.EqualFold(name, me.GetUsername()) && !o.Stdin {
		old, err := o.Password(ctx, term.Question{Text: "Old password of " + name + ":", Flag: "--password-stdin"})
		if err != nil {
			return err
		}
		change.CurrentPassword = new(password.Hash(old))
	}
	secret, err := o.readTwice(ctx, o.Streams, name)
	if err != nil {
		return err
	}
	change.Password = new(password.Hash(secret))
	u, err := patchUser(ctx, master, name, change)
	if err != nil {
		return err
	}
	return o.AnswerNote(u, "Changed the password of %s.", name)
}
