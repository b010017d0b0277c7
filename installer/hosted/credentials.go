package hosted

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// firstUser is who a new cluster has as its administrator.
const firstUser = "admin"

// Credentials is how to log in the first time.
type Credentials struct {
	URL  string
	User string
	// Password is the initial one; it may have been changed since.
	Password secret.Value
}

// Credentials reads the first password of the administrator, and where to use it.
func (c *Cluster) Credentials(ctx context.Context) (Credentials, error) {
	e, err := c.Endpoint(ctx)
	if err != nil {
		return Credentials{}, err
	}
	password, err := c.firstPassword(ctx)
	return Credentials{e.URL, firstUser, password}, err
}

func (c *secrets) firstPassword(ctx context.Context) (secret.Value, error) {
	return c.readSecret(ctx, c.Common.InitialPassword, passwordSecret)
}

// DeterminedPassword reads the first password of the user determined, which is that of
// the administrator where there is only one.
func (c *secrets) DeterminedPassword(ctx context.Context) (secret.Value, error) {
	if c.Common.DeterminedPassword.IsZero() && !c.Common.InitialPassword.IsZero() {
		return c.firstPassword(ctx)
	}
	p, err := c.readSecret(ctx, c.Common.DeterminedPassword, determinedSecret)
	if cloud.KindOf(err) == cloud.NotFound {
		return c.firstPassword(ctx) // a version before this one made one for both
	}
	return p, err
}

// readSecret reads the secret that v refers to: where the user keeps it, or where `up`
// has put it.
func (c *secrets) readSecret(ctx context.Context, v secret.Value, name string) (secret.Value, error) {
	if ref, ok := v.Ref(); ok && ref.Scheme == c.Words.Scheme {
		return c.Vault.ReadForeign(ctx, ref)
	}
	return c.Vault.Secret(Secret{Name: name}).Read(ctx)
}

// hasDeterminedPassword reports whether determined has a first password of its own.
func (c *secrets) hasDeterminedPassword() bool {
	return !c.Common.DeterminedPassword.IsZero() || c.makesDeterminedPassword()
}

// WantsDeterminedPassword reports whether `up` generates a password for the user determined:
// the settings have no initial password, which both users would have, and no earlier
// version generated one for both. This version stores that of determined first.
func (c *secrets) WantsDeterminedPassword(ctx context.Context) (bool, error) {
	if !c.Common.InitialPassword.IsZero() || !c.Common.DeterminedPassword.IsZero() {
		return false, nil
	}
	var one, two bool
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		one, err = c.hasSecret(ctx, passwordSecret)
		return err
	})
	g.Go(func() (err error) {
		two, err = c.hasSecret(ctx, determinedSecret)
		return err
	})
	err := g.Wait()
	return two || !one, err
}

func (c *secrets) hasSecret(ctx context.Context, name string) (bool, error) {
	version, err := c.Vault.Secret(Secret{Name: name}).Version(ctx)
	return version != "", err
}

func (c *secrets) makesDeterminedPassword() bool {
	return c.MakesDeterminedPassword != nil && c.MakesDeterminedPassword()
}
