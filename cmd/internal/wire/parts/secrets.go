package parts

import (
	"cmp"
	"context"
	"strings"
	"sync"

	awsapi "github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	gcpstorage "github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// secretResolver returns a resolver for secret references.
func secretResolver() secret.Resolver {
	return secret.Resolver{Sources: map[secret.Scheme]secret.Source{
		secret.AWS: &lazySource{lazy[secret.Source]{open: openAWSSecrets}},
		secret.GCP: &gcpSecrets{open: api.Open},
	}}
}

func openAWSSecrets(ctx context.Context) (secret.Source, error) {
	c, err := awsapi.Open(ctx, awsapi.Options{})
	return storage.SecretSource{Secrets: c.Secrets}, err
}

// gcpSecrets reads secrets from Google's Secret Manager in the project of the reference, or else that of
// this machine, or else the environment's.
type gcpSecrets struct {
	open func(context.Context, api.Options) (api.Clients, error)
	home fleet.Home

	mu      sync.Mutex // guards sources
	sources map[string]secret.Source
}

var _ secret.Source = (*gcpSecrets)(nil)

// Secret implements secret.Source.
func (g *gcpSecrets) Secret(ctx context.Context, ref secret.Ref) (string, error) {
	source, err := g.sourceOf(ctx, projectOf(ref))
	if err != nil {
		return "", err
	}
	return source.Secret(ctx, ref)
}

// projectOf returns the project in a reference, or "".
func projectOf(ref secret.Ref) string {
	rest, whole := strings.CutPrefix(ref.Name, "projects/")
	if !whole {
		return ""
	}
	project, _, _ := strings.Cut(rest, "/")
	return project
}

func (g *gcpSecrets) sourceOf(ctx context.Context, project string) (secret.Source, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sources[project]; s != nil {
		return s, nil
	}
	own, err := g.home.Project(ctx)
	if err != nil {
		own = "" // it is not a Google Cloud machine
	}
	// Secrets are global.
	clients, err := g.open(ctx, api.Options{Project: cmp.Or(project, own), Region: "global"})
	if err != nil {
		return nil, err
	}
	if g.sources == nil {
		g.sources = make(map[string]secret.Source)
	}
	g.sources[project] = gcpstorage.SecretSource{Clients: clients}
	return g.sources[project], nil
}
