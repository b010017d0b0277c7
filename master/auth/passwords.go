package auth

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// passwords compares what users send with what is stored, a few at a time.
type passwords struct {
	*shared

	users  *userTable
	logins *gate
}

// passwordLimit is above what anybody types and what clients send hashed.
const passwordLimit = 4 << 10

func errGuesses() error {
	return status.New(status.ResourceExhausted, "too many wrong passwords; wait %v between tries", wrongEvery)
}

func errCredentials() error { return status.New(status.Unauthenticated, "invalid credentials") }

func (p *passwords) verify(ctx context.Context, r *apiv1.LoginRequest, addr string) (*account, error) {
	sent := r.GetPassword()
	if len(r.GetUsername()) > nameLimit || len(sent) > passwordLimit {
		return nil, errCredentials() // nobody has such a name, and it is not remembered that it was tried
	}
	if !r.GetIsHashed() {
		sent = clientHash(sent)
	}
	v := visitor{user: plain(r.GetUsername()), addr: addr}
	if p.logins.blocked(v, p.cfg.Now()) {
		return nil, errGuesses()
	}
	leave, err := p.logins.enter(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer leave()
	if p.logins.blocked(v, p.cfg.Now()) { // by those who were before it
		return nil, errGuesses()
	}
	u, found := p.users.findNamed(r.GetUsername())
	if !found || !p.fits(u.Hash, sent) {
		if !found {
			derive(sent) // a name that does not exist must not answer faster
		}
		p.logins.failed(v, p.cfg.Now())
		return nil, errCredentials()
	}
	p.logins.succeeded(v)
	return u, nil
}

// fits also refuses a blank password that an earlier start of the master allowed.
func (p *passwords) fits(stored, sent string) bool {
	if stored == blank {
		return p.cfg.AllowBlankPassword && sent == ""
	}
	return fits(stored, sent)
}

// newHash is what to store for a password that a client sent.
func (p *passwords) newHash(ctx context.Context, sent string, hashed, remote bool) (string, error) {
	if remote {
		if sent != "" {
			return "", status.New(status.InvalidArgument, "a remote user has no password here; leave it out")
		}
		return locked, nil
	}
	if sent == "" {
		if !p.cfg.AllowBlankPassword {
			return "", status.New(status.InvalidArgument, "password: must not be empty")
		}
		return blank, nil
	}
	if !hashed {
		if err := Password(sent).check(); err != nil {
			return "", err
		}
		sent = clientHash(sent)
	}
	leave, err := p.logins.enter(ctx, "") // who changes a password has logged in
	if err != nil {
		return "", err
	}
	defer leave()
	return derive(sent), nil
}
