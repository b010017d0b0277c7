package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Owned holds the options of a command that lists the caller's items, those of one user, or all.
type Owned struct {
	Remote

	All  bool
	User string
}

// AddOwnerFlags adds --all and --user.
func (o *Owned) AddOwnerFlags(c *cobra.Command) {
	c.Flags().BoolVarP(&o.All, "all", "a", false, "include other users")
	c.Flags().StringVar(&o.User, "user", "", "show only those of this user (default yourself)")
	o.CompleteFlag(c, "user", client.Users)
}

// Owners returns the names of the users whose items are listed, or none for all users.
func (o *Owned) Owners(ctx context.Context, master *client.Client) ([]string, error) {
	switch {
	case o.All && o.User != "":
		return nil, usage.Errorf("use either --all or --user")
	case o.All:
		return nil, nil
	case o.User != "":
		u, err := master.User(ctx, o.User)
		if err != nil {
			return nil, err
		}
		return []string{u.GetUsername()}, nil
	}
	me, err := master.Me(ctx)
	if err != nil {
		return nil, err
	}
	return []string{me.GetUsername()}, nil
}

func (o *Owned) onlyOwn() bool { return !o.All && o.User == "" }

// none returns the note that nothing was found. Where only the caller's items are listed, it says so.
func none(o remoteOptions, note string) string {
	if own, ok := o.(interface{ onlyOwn() bool }); ok && own.onlyOwn() {
		return note + " Those of other users are listed with --all."
	}
	return note
}
