package hosted

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// firstUser is the administrator of a new cluster.
const firstUser = "admin"

// Credentials are for the first login.
type Credentials struct {
	URL  string
	User string
	// Password is the initial password, which may have been changed.
	Password secret.Value
}

// Credentials returns the master's URL and the initial credentials of the administrator.
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

// DeterminedPassword returns the initial password of the user determined, which may be the
// administrator's.
func (c *secrets) DeterminedPassword(ctx context.Context) (secret.Value, error) {
	if c.Common.DeterminedPassword.IsZero() && !c.Common.InitialPassword.IsZero() {
		return c.firstPassword(ctx)
	}
	p, err := c.readSecret(ctx, c.Common.DeterminedPassword, determinedSecret)
	if cloud.KindOf(err) == cloud.NotFound {
		return c.firstPassword(ctx) // earlier versions generated one password for both users
	}
	return p, err
}

// readSecret reads the secret that v refers to, from the user's secret or from the copy that `up`
// has stored.
func (c *secrets) readSecret(ctx context.Context, v secret.Value, name string) (secret.Value, error) {
	if ref, ok := v.Ref(); ok && ref.Scheme == c.Words.Scheme {
		return c.Vault.ReadForeign(ctx, ref)
	}
	return c.Vault.Secret(Secret{Name: name}).Read(ctx)
}

// hasDeterminedPassword reports whether determined has its own initial password.
func (c *secrets) hasDeterminedPassword() bool {
	return !c.Common.DeterminedPassword.IsZero() || c.makesDeterminedPassword()
}

// WantsDeterminedPassword reports whether `up` generates a password for the user determined. It
// does unless the settings have an initial password, which applies to both users, or an earlier
// version generated one for both. That version is recognized by the missing password of determined,
// which this version stores first.
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
