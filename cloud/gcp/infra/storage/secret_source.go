package storage

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// SecretSource resolves gcp-sm: references: to a secret of the clients' project by its ID, or of
// any project by its full name.
type SecretSource struct{ Clients api.Clients }

var _ secret.Source = SecretSource{}

// Secret implements secret.Source.
func (s SecretSource) Secret(ctx context.Context, ref secret.Ref) (string, error) {
	rest, whole := strings.CutPrefix(ref.Name, "projects/")
	if !whole {
		return readSecret(ctx, s.Clients, ref.Name)
	}
	project, id, _ := strings.Cut(rest, "/secrets/")
	return readSecret(ctx, s.Clients.In(project), id)
}

// SecretOf returns the project and the ID of the secret that a reference names, without its
// version: "ID", "ID/versions/2", or either with the prefix "projects/PROJECT/secrets/". Only the
// last form can name another project.
func SecretOf(name, own string) (project, id string) {
	project = own
	if rest, whole := strings.CutPrefix(name, "projects/"); whole {
		project, name, _ = strings.Cut(rest, "/secrets/")
	}
	id, _, _ = strings.Cut(name, "/versions/")
	return project, id
}
