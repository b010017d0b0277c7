package local

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

// rememberContext makes the cluster the current context and logs in unless the saved session is valid. It
// reports whether there is a session.
func (c *opened) rememberContext(ctx context.Context) (bool, error) {
	t := c.Target
	f, err := contexts.Default(c.Getenv)
	if err != nil {
		return false, err
	}
	ca, err := c.readCA()
	if err != nil {
		return false, err
	}
	user, token, err := goodSession(ctx, f, t)
	if err != nil {
		return false, err
	}
	err = f.Change(ctx, func(b *contexts.Book) error {
		k, _ := b.Get(t.Spec.Cluster)
		k.Name, k.Master, k.CA, k.ServerName = t.Spec.Cluster, t.Spec.URL(), ca, t.Spec.OwnTLS.Name
		k.Platform = Platform{}.Name()
		k.Region, k.Project, k.KubeContext, k.Namespace = "", "", "", "" // they belong to an earlier cluster with this ID
		k.User, k.Token = user, token
		b.Activate(k)
		return nil
	})
	return token != "", err
}

// readCA returns the authority of the master's certificate, or "" without TLS.
func (c *opened) readCA() (string, error) {
	if !c.Target.Spec.TLS {
		return "", nil
	}
	data, err := os.ReadFile(c.Target.Place.CA())
	if err != nil {
		return "", fmt.Errorf("cannot read the cluster's certificate: %w", err)
	}
	return string(data), nil
}

// goodSession returns the saved session, of any user, if it is valid. Otherwise it logs in as admin. token
// is empty if the password of admin was changed.
func goodSession(ctx context.Context, f contexts.File, t *target.Target) (user string, token contexts.Token, err error) {
	b, err := f.Load()
	if err != nil {
		return "", "", err
	}
	old, _ := b.Get(t.Spec.Cluster)
	if old.Token != "" && t.Master().Accepts(ctx, string(old.Token)) {
		return old.User, old.Token, nil
	}
	text, err := t.Master().Login(ctx)
	if errors.Is(err, target.ErrForbidden) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("cannot log in as admin: %w", err)
	}
	return "admin", contexts.Token(text), nil
}
