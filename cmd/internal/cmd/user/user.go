// Package user implements the commands that manage users.
package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy user`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "user", "Manage users", "  det-deploy user list\n  det-deploy user create ada --admin",
		newList, newWhoami, newCreate, newEdit, newActivate, newDeactivate, newPassword, newSessions)
}

// patchUser changes a user by name.
func patchUser(ctx context.Context, master *client.Client, name string, change *apiv1.PatchUser) (*apiv1.User, error) {
	u, err := master.User(ctx, name)
	if err != nil {
		return nil, err
	}
	return master.PatchUser(ctx, u.GetId(), change)
}
