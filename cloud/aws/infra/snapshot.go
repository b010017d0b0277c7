package infra

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Snapshot is a copy of a volume as it was at one moment. It outlives `down`.
type Snapshot struct {
	In *Cluster
	// Name tells it from others: "before-0.39.0".
	Name   string
	Volume Ref

	learned
	nonced
}

var (
	_ resource.Updater = (*Snapshot)(nil)
	_ resource.Nonced  = (*Snapshot)(nil)
)

// ID is "aws/snapshot/" and its name.
func (s *Snapshot) ID() string { return resourceID(KindSnapshot, s.Name) }

// Kind is KindSnapshot.
func (*Snapshot) Kind() string { return KindSnapshot }

// Needs its volume.
func (s *Snapshot) Needs() []string { return needs(s.Volume) }

// Find looks at it.
func (s *Snapshot) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, found, err := snapshots().named(ctx, s.In, s.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	s.id = live.id
	return found, tagDrift(live.tags, s.In.chosen(s.Name)), nil
}

// CreateOnce begins it. What it holds is settled at once, though Amazon copies
// for a while.
func (s *Snapshot) CreateOnce(ctx context.Context, nonce string) error {
	return s.In.known(ctx, s.ID(), func() error {
		out, err := s.In.Clients.EC2.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{
			VolumeId: aws.String(s.Volume.Identity()), Description: aws.String(s.In.displayName(s.Name)),
			TagSpecifications: tagSpec(types.ResourceTypeSnapshot, s.In.marks(s.Name, nonce)),
		})
		if err == nil {
			s.id = aws.ToString(out.SnapshotId)
		}
		return err
	})
}

// Made lists what was made under nonce.
func (s *Snapshot) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return snapshots().made(ctx, s.In, nonce)
}

// Update changes tags.
func (s *Snapshot) Update(ctx context.Context, drift []resource.Drift) error {
	return s.In.retag(ctx, s.id, drift)
}

// Delete removes it.
func (s *Snapshot) Delete(ctx context.Context) error { return s.In.deleteSnapshot(ctx, s.id) }

func (c *Cluster) deleteSnapshot(ctx context.Context, id string) error {
	return c.release(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: aws.String(id)})
		return err
	})
}

func snapshots() kind[types.Snapshot] {
	return kind[types.Snapshot]{
		name: KindSnapshot,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.Snapshot, error) {
			p := ec2.NewDescribeSnapshotsPaginator(c.Clients.EC2, &ec2.DescribeSnapshotsInput{Filters: filters, OwnerIds: []string{"self"}})
			return pages(ctx, p, func(o *ec2.DescribeSnapshotsOutput) []types.Snapshot { return o.Snapshots })
		},
		look: func(s types.Snapshot) sight {
			return sight{id: aws.ToString(s.SnapshotId), tags: ec2TagMap(s.Tags), born: aws.ToTime(s.StartTime), fading: s.State == types.SnapshotStateError}
		},
	}
}
