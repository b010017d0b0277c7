// Package user is the commands about the accounts of a cluster.
package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy user`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "user",
		Short:   "Manage users",
		Example: "  det-deploy user list\n  det-deploy user create ada --admin",
	}
	c.AddCommand(newList(s, runList), newWhoami(s, runWhoami), newCreate(s, runCreate), newEdit(s, runEdit),
		newActivate(s, runActivate), newDeactivate(s, runActivate), newPassword(s, runPassword), newSessions(s))
	return c
}

// patchUser changes the user with a name.
func patchUser(ctx context.Context, s *term.Streams, t contexts.Target, name string, change *apiv1.PatchUser) (*apiv1.User, error) {
	master, err := t.Dial(s)
	if err != nil {
		return nil, err
	}
	defer master.Close()
	u, err := master.User(ctx, name)
	if err != nil {
		return nil, err
	}
	return master.PatchUser(ctx, u.GetId(), change)
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
