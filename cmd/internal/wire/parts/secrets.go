package parts

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// secretResolver reads secrets where references say they are.
func secretResolver() secret.Resolver {
	return secret.Resolver{Sources: map[secret.Scheme]secret.Source{secret.AWS: &lazySource{lazy[secret.Source]{open: openAWSSecrets}}}}
}

func openAWSSecrets(ctx context.Context) (secret.Source, error) {
	c, err := api.Open(ctx, api.Options{})
	return storage.SecretSource{Secrets: c.Secrets}, err
}
