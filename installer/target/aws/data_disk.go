package aws

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// dataDisk is the data volume: the user's, or else the cluster's own.
type dataDisk struct {
	cluster *owner.Cluster
	// existing is the user's.
	existing string
}

var _ hosted.Disk = dataDisk{}

// Keep implements hosted.Disk with a snapshot.
func (d dataDisk) Keep(ctx context.Context, name string) (string, error) {
	volume := infra.Ref(infra.Existing(d.existing))
	if d.existing == "" {
		own := infra.Nonced(&storage.Volume{In: d.cluster, Name: "data"})
		found, _, err := own.Find(ctx)
		if err != nil {
			return "", err
		}
		if !found.Exists() {
			return "", errors.New("there is no data volume")
		}
		volume = own
	}
	s := infra.Nonced(&storage.Snapshot{In: d.cluster, Name: name, Volume: volume})
	found, _, err := s.Find(ctx)
	if err == nil && !found.Exists() {
		err = createSnapshot(ctx, s, name)
	}
	return "snapshot " + s.Identity(), err
}

// createSnapshot begins one, exactly once: its name is its nonce.
func createSnapshot(ctx context.Context, s *infra.NoncedObject[types.Snapshot], name string) error {
	err := s.CreateOnce(ctx, name)
	if cloud.KindOf(err) != cloud.Ambiguous {
		return err
	}
	made, lookErr := s.Made(ctx, name)
	if lookErr != nil {
		return lookErr
	}
	if len(made) == 0 {
		return err
	}
	_, _, err = s.Find(ctx)
	return err
}
