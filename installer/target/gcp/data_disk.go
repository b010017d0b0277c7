package gcp

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// keeper takes snapshots of the master's data disk, either existing or created by the cluster.
type keeper struct{ *Target }

var _ hosted.Disk = keeper{}

// Keep implements hosted.Disk. It takes a snapshot.
func (k keeper) Keep(ctx context.Context, name string) (string, error) {
	where, err := storage.Keep(ctx, k.cluster, k.dataDisk(), name)
	return "snapshot " + where, err
}
