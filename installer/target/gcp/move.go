package gcp

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
)

var _ installer.Mover = (*Target)(nil)

// Move implements installer.Mover for the master's machine, which moves with its disk.
func (t *Target) Move(ctx context.Context, id string, refusal error) (installer.Moved, error) {
	if id != (&compute.Master{}).ID() {
		return installer.Moved{}, refusal
	}
	zone, message, err := t.search.Next(ctx, t.MasterPlace(), refusal, func(ctx context.Context) ([]resource.Found, error) {
		return storage.Disks(t.cluster).Founds(ctx, t.cluster.Owned(), t.cluster.Found)
	})
	if err != nil {
		return installer.Moved{}, err
	}
	t.Known.Master.Zone = zone
	settings, err := t.Remember()
	return installer.Moved{Settings: settings, Message: message}, err
}
