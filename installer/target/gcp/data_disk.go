package gcp

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// keeper copies the disk with the master's data: the user's, or else the cluster's own.
type keeper struct{ *Target }

var _ hosted.Disk = keeper{}

// Keep implements hosted.Disk with a snapshot.
func (k keeper) Keep(ctx context.Context, name string) (string, error) {
	where, err := storage.Keep(ctx, k.cluster, k.dataDisk(), name)
	return "snapshot " + where, err
}
