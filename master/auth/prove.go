package auth

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// provenFor is how long a login stands for the password that it showed. The det
// client cannot send the old password with the new one; logging in again can be
// asked of its users.
const provenFor = 10 * time.Minute

// provePassword refuses a change of one's own password by somebody who has only
// found a token: the old password is sent along, or the login has just shown it.
func (a *accounts) provePassword(ctx context.Context, by *apiv1.User, text string, id int32, p *apiv1.PatchUser) error {
	u, found := a.users.find(id)
	changes := p.Password != nil || p.Remote != nil
	if !changes || by.GetId() != id || !found || u.Hash == blank || u.Hash == locked {
		return nil
	}
	if p.CurrentPassword != nil {
		// Counted as a login is, apart from those of any address.
		_, err := a.passwords.verify(ctx, &apiv1.LoginRequest{
			Username: u.Username, Password: p.GetCurrentPassword(), IsHashed: p.GetIsHashed(),
		}, "change of the password")
		if status.Of(err) == status.Unauthenticated {
			return status.New(status.PermissionDenied, "currentPassword: is not the password of user '%s'", u.Username)
		}
		return err
	}
	s, _, found := a.tokens.findSession(text)
	if found && s.Allocation == "" && a.cfg.Now().Sub(s.created()) < provenFor {
		return nil
	}
	return status.New(status.PermissionDenied,
		"to change your own password, show the old one: log in again (det user login %s) and change it within %d minutes",
		u.Username, int(provenFor.Minutes()))
}
