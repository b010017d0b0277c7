package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// vault is Secrets Manager.
type vault struct{ cluster *owner.Cluster }

var _ hosted.Vault = vault{}

// Secret implements hosted.Vault.
func (v vault) Secret(s hosted.Secret) hosted.StoredSecret {
	return storedSecret{&storage.Secret{In: v.cluster, Name: s.Name, Given: s.Given, Generate: s.Generate, OpensData: s.OpensData}}
}

// FullName implements hosted.Vault.
func (v vault) FullName(name string) string { return storage.SecretName(v.cluster.ID, name) }

// ReadForeign implements hosted.Vault.
func (v vault) ReadForeign(ctx context.Context, ref secret.Ref) (secret.Value, error) {
	return SecretSource{v.cluster.Clients.Secrets}.readValue(ctx, ref)
}

// storedSecret is a secret of the cluster's own.
type storedSecret struct{ *storage.Secret }

var _ hosted.StoredSecret = storedSecret{}

// Give implements hosted.StoredSecret.
func (s storedSecret) Give(v secret.Value) { s.Given = v }

// Version implements hosted.StoredSecret.
func (s storedSecret) Version(ctx context.Context) (string, error) {
	out, err := s.In.Clients.Secrets.DescribeSecret(ctx, &sm.DescribeSecretInput{SecretId: aws.String(storage.SecretName(s.In.ID, s.Name))})
	if cloud.KindOf(err) == cloud.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for version, stages := range out.VersionIdsToStages {
		if slices.Contains(stages, "AWSCURRENT") {
			return version, nil
		}
	}
	return "unknown", nil
}

// SecretSource reads aws-sm: references.
type SecretSource struct{ Secrets api.Secrets }

var _ secret.Source = SecretSource{}

// Secret implements secret.Source.
func (s SecretSource) Secret(ctx context.Context, ref secret.Ref) (string, error) {
	v, err := s.readValue(ctx, ref)
	return v.Reveal(), err
}

func (s SecretSource) readValue(ctx context.Context, ref secret.Ref) (secret.Value, error) {
	out, err := s.Secrets.GetSecretValue(ctx, &sm.GetSecretValueInput{SecretId: aws.String(ref.Name)})
	if err != nil {
		return secret.Value{}, err
	}
	text := aws.ToString(out.SecretString)
	if ref.Key == "" {
		return secret.Literal(text), nil
	}
	var entries map[string]string
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return secret.Value{}, fmt.Errorf("read entry %s of secret %s: it is no JSON mapping of texts", ref.Key, ref.Name)
	}
	return secret.Literal(entries[ref.Key]), nil
}
