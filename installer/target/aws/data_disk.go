package aws

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// dataDisk is the data volume, either existing or created by the cluster.
type dataDisk struct {
	cluster *mark.Cluster
	// existing is the ID of an existing volume.
	existing string
}

var _ hosted.Disk = dataDisk{}

// Keep implements hosted.Disk. It takes a snapshot.
func (d dataDisk) Keep(ctx context.Context, name string) (string, error) {
	id, err := storage.Keep(ctx, d.cluster, d.existing, name)
	return "snapshot " + id, err
}
