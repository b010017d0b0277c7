package aws

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// dataDisk is the data volume: the user's, or else the cluster's own.
type dataDisk struct {
	cluster *infra.Cluster
	// existing is the user's.
	existing string
}

var _ hosted.Disk = dataDisk{}

// Keep implements hosted.Disk with a snapshot.
func (d dataDisk) Keep(ctx context.Context, name string) (string, error) {
	volume := infra.Ref(infra.Existing(d.existing))
	if d.existing == "" {
		own := &infra.Volume{In: d.cluster, Name: "data"}
		found, _, err := own.Find(ctx)
		if err != nil {
			return "", err
		}
		if !found.Exists() {
			return "", errors.New("there is no data volume")
		}
		volume = own
	}
	s := &infra.Snapshot{In: d.cluster, Name: name, Volume: volume}
	found, _, err := s.Find(ctx)
	if err == nil && !found.Exists() {
		err = createSnapshot(ctx, s)
	}
	return "snapshot " + s.Identity(), err
}

// createSnapshot begins one, exactly once: its name is its nonce.
func createSnapshot(ctx context.Context, s *infra.Snapshot) error {
	err := s.CreateOnce(ctx, s.Name)
	if cloud.KindOf(err) != cloud.Ambiguous {
		return err
	}
	made, lookErr := s.Made(ctx, s.Name)
	if lookErr != nil {
		return lookErr
	}
	if len(made) == 0 {
		return err
	}
	_, _, err = s.Find(ctx)
	return err
}
