package gcp

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// vault stores secrets in Secret Manager.
type vault struct{ cluster *mark.Cluster }

var _ hosted.Vault = vault{}

// Secret implements hosted.Vault.
func (v vault) Secret(s hosted.Secret) hosted.StoredSecret {
	return &storage.Secret{In: v.cluster, Name: s.Name, Given: s.Given, Generate: s.Generate, OpensData: s.OpensData}
}

// FullName implements hosted.Vault.
func (v vault) FullName(name string) string { return storage.SecretID(v.cluster.ID, name) }

// ReadForeign implements hosted.Vault.
func (v vault) ReadForeign(ctx context.Context, ref secret.Ref) (secret.Value, error) {
	text, err := storage.SecretSource{Clients: v.cluster.Clients}.Secret(ctx, ref)
	return secret.Literal(text), err
}
