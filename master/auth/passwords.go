package auth

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/password"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/share"
)

// passwords verifies passwords, a few at a time.
type passwords struct {
	*shared

	users  *userTable
	logins *gate
}

// passwordLimit exceeds any typed password and any hash.
const passwordLimit = 4 << 10

func errGuesses() error {
	return status.New(status.ResourceExhausted, "too many wrong passwords; wait %v between tries", wrongEvery)
}

func errCredentials() error { return status.New(status.Unauthenticated, "invalid credentials") }

// verifyPassword returns the user whose password was sent, and a new hash if the stored one is
// outdated.
func (p *passwords) verifyPassword(ctx context.Context, r *apiv1.LoginRequest, addr string) (u *account, renewed string, err error) {
	sent := r.GetPassword()
	if len(r.GetUsername()) > nameLimit || len(sent) > passwordLimit {
		return nil, "", errCredentials() // no user has such a name, and the attempt is not recorded
	}
	if !r.GetIsHashed() {
		sent = password.Hash(sent)
	}
	from := share.GroupOf(addr)
	v := visitor{user: normalizeName(r.GetUsername()), addr: from.Name}
	if p.logins.isBlocked(v, p.cfg.Now()) {
		return nil, "", errGuesses()
	}
	leave, err := p.logins.acquireHash(ctx, from)
	if err != nil {
		return nil, "", err
	}
	defer leave()
	if p.logins.isBlocked(v, p.cfg.Now()) { // by earlier attempts
		return nil, "", errGuesses()
	}
	var found bool
	u, found = p.users.findNamed(r.GetUsername())
	if !found || !p.matchesAccount(u.Hash, sent) {
		if !found {
			hashPassword(sent) // an unknown name must not be answered faster
		}
		p.logins.countFailure(v, p.cfg.Now())
		return nil, "", errCredentials()
	}
	p.logins.resetFailures(v)
	if isOutdated(u.Hash) {
		renewed = hashPassword(sent)
	}
	return u, renewed, nil
}

// matchesAccount also rejects a blank password that an earlier start of the master allowed.
func (p *passwords) matchesAccount(stored, sent string) bool {
	if stored == blank {
		return p.cfg.AllowBlankPassword && sent == ""
	}
	return matchesHash(stored, sent)
}

// newHash returns the hash to store for a password that a client sent.
func (p *passwords) newHash(ctx context.Context, sent string, hashed, remote bool) (string, error) {
	if remote {
		if sent != "" {
			return "", status.New(status.InvalidArgument, "a remote user has no password; omit it")
		}
		return locked, nil
	}
	if sent == "" {
		if !p.cfg.AllowBlankPassword {
			return "", status.New(status.InvalidArgument, "password: must not be empty")
		}
		return blank, nil
	}
	check := checkHash
	if !hashed {
		check = func(sent string) error { return Password(sent).checkRule() }
	}
	if err := check(sent); err != nil {
		return "", err
	}
	if !hashed {
		sent = password.Hash(sent)
	}
	leave, err := p.logins.acquireHash(ctx, share.Group{Name: "users", Spared: true}) // the caller has logged in
	if err != nil {
		return "", err
	}
	defer leave()
	return hashPassword(sent), nil
}

// provenFor is how long after a login its password need not be sent again. The det client cannot
// send the old password with the new one, but its users can log in again.
const provenFor = 10 * time.Minute

// provePassword returns an error if a user changes their own password without proof of the old one:
// by sending it, or by a recent login. This stops a caller who has only found a token.
func (a *accounts) provePassword(ctx context.Context, by *apiv1.User, text string, id int32, p *apiv1.PatchUser) error {
	u, found := a.users.findUser(id)
	changes := p.Password != nil || p.Remote != nil
	if !changes || by.GetId() != id || !found || u.Hash == blank || u.Hash == locked {
		return nil
	}
	if p.CurrentPassword != nil {
		// Failures are counted like those of logins, but apart from those of any address.
		_, _, err := a.passwords.verifyPassword(ctx, &apiv1.LoginRequest{
			Username: u.Username, Password: p.GetCurrentPassword(), IsHashed: p.GetIsHashed(),
		}, "change of the password")
		if status.Of(err) == status.Unauthenticated {
			return status.New(status.PermissionDenied, "currentPassword: is not the password of user '%s'", u.Username)
		}
		return err
	}
	s, _, found := a.tokens.findSession(text)
	if found && s.Allocation == "" && a.cfg.Now().Sub(s.createdAt()) < provenFor {
		return nil
	}
	return status.New(status.PermissionDenied,
		"to change your own password, prove the old one: log in again (det user login %s) and change it within %d minutes",
		u.Username, int(provenFor.Minutes()))
}
