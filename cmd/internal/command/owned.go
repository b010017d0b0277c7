package command

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/master/api/client"
)

// Owned holds the options of a command that lists the caller's items or those of all users.
type Owned struct {
	Remote

	All bool
}

// AddAllFlag adds --all.
func (o *Owned) AddAllFlag(f *pflag.FlagSet) {
	f.BoolVarP(&o.All, "all", "a", false, "include other users")
}

// Owners returns the names of the users whose items are listed, or none for all users.
func (o *Owned) Owners(ctx context.Context, master *client.Client) ([]string, error) {
	if o.All {
		return nil, nil
	}
	me, err := master.Me(ctx)
	if err != nil {
		return nil, err
	}
	return []string{me.GetUsername()}, nil
}
