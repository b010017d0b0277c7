package wire

import (
	"context"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// secretResolver reads secrets where references say they are. Who refers to none of a
// cloud's asks no cloud.
func secretResolver() secret.Resolver {
	return secret.Resolver{Sources: map[secret.Scheme]secret.Source{secret.AWS: &amazon{}}}
}

// amazon opens clients when the first secret is asked for: a master outside of AWS
// has no use for any.
type amazon struct {
	once   sync.Once
	source storage.SecretSource
	err    error
}

var _ secret.Source = (*amazon)(nil)

// Secret implements secret.Source.
func (a *amazon) Secret(ctx context.Context, ref secret.Ref) (string, error) {
	a.once.Do(func() {
		var c api.Clients
		c, a.err = api.Open(ctx, api.Options{})
		a.source = storage.SecretSource{Secrets: c.Secrets}
	})
	if a.err != nil {
		return "", a.err
	}
	return a.source.Secret(ctx, ref)
}
