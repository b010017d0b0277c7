package storage

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Snapshot is an EBS snapshot. `down` retains it.
type Snapshot struct {
	In *mark.Cluster
	// Name identifies the snapshot within the cluster: "before-0.39.0".
	Name   string
	Volume infra.Ref

	infra.Learned
}

// ID returns the resource ID "aws/snapshot/NAME".
func (s *Snapshot) ID() string { return mark.ResourceID(mark.KindSnapshot, s.Name) }

// Define implements infra.Defined.
func (s *Snapshot) Define() infra.Definition[types.Snapshot] {
	d := mark.Define(s.In, Snapshots(s.In), s.Name, &s.Learned, s.Volume)
	d.Create = s.createSnapshot
	return d
}

// createSnapshot starts the snapshot. Its content is fixed at once, while EC2 copies the blocks in
// the background.
func (s *Snapshot) createSnapshot(ctx context.Context, nonce string) error {
	return s.In.Waiter().RetryUntilKnown(ctx, s.ID(), func() error {
		out, err := s.In.Clients.EC2.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{
			VolumeId: aws.String(s.Volume.Identity()), Description: aws.String(s.In.DisplayName(s.Name)),
			TagSpecifications: mark.TagSpec(types.ResourceTypeSnapshot, s.In.Marks(s.Name, nonce)),
		})
		if err == nil {
			s.Learn(aws.ToString(out.SnapshotId))
		}
		return err
	})
}

// Keep creates a snapshot of a volume with a name, once, and returns its ID. If id is empty, it is
// the cluster's volume.
func Keep(ctx context.Context, c *mark.Cluster, id, name string) (string, error) {
	volume := infra.Ref(infra.Existing(id))
	if id == "" {
		own := infra.Nonced(&Volume{In: c, Name: "data"})
		found, _, err := own.Find(ctx)
		if err != nil {
			return "", err
		}
		if !found.Exists() {
			return "", errors.New("the cluster has no data volume")
		}
		volume = own
	}
	s := infra.Nonced(&Snapshot{In: c, Name: name, Volume: volume})
	err := s.Ensure(ctx, name)
	return s.Identity(), err
}

func deleteSnapshot(ctx context.Context, c *mark.Cluster, id string) error {
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: aws.String(id)})
		return err
	})
}

// Snapshots returns the kind of the cluster's snapshots.
func Snapshots(c *mark.Cluster) infra.Kind[types.Snapshot] {
	k := mark.Kind(mark.KindSnapshot, func(ctx context.Context, filters []types.Filter) ([]types.Snapshot, error) {
		p := ec2.NewDescribeSnapshotsPaginator(c.Clients.EC2, &ec2.DescribeSnapshotsInput{Filters: filters, OwnerIds: []string{"self"}})
		return mark.Pages(ctx, p, func(o *ec2.DescribeSnapshotsOutput) []types.Snapshot { return o.Snapshots })
	}, func(s types.Snapshot) infra.Observed {
		return infra.Observed{Identity: aws.ToString(s.SnapshotId), Marks: mark.EC2TagMap(s.Tags), Created: aws.ToTime(s.StartTime), Failed: s.State == types.SnapshotStateError}
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteSnapshot(ctx, c, id) }
	return k
}
