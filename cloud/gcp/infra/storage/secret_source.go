package storage

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// SecretSource reads gcp-sm: references: to a secret of the clients' project by its ID, or
// of any by its whole name.
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
