package infra

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// MinVolumeGiB is the least size of a master's data volume: 100 GB is what
// Determined asks of a master's disk.
const MinVolumeGiB = 100

// Volume is an encrypted gp3 disk that outlives machines and `down`.
type Volume struct {
	In   *Cluster
	Name string
	// Zone is that of the machine it is for.
	Zone string
	// SizeGiB is its size, which only grows.
	SizeGiB int32
	// Snapshot is what it is filled from, or empty for a blank one.
	Snapshot string
	// Elsewhere says what to do about one that is in another zone; nil says nothing.
	Elsewhere func(zone string) string

	learned
	nonced
}

var (
	_ resource.Updater = (*Volume)(nil)
	_ resource.Nonced  = (*Volume)(nil)
	_ resource.Adviser = (*Volume)(nil)
)

// ID is "aws/volume/" and its name.
func (v *Volume) ID() string { return resourceID(KindVolume, v.Name) }

// Kind is KindVolume.
func (*Volume) Kind() string { return KindVolume }

// Needs nothing.
func (*Volume) Needs() []string { return nil }

// Find looks at it. What cannot be changed in place is refused by the plan,
// because a volume is retained.
func (v *Volume) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	s, found, err := volumes().named(ctx, v.In, v.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	v.id = s.id
	drift := tagDrift(s.tags, v.In.chosen(v.Name))
	have := aws.ToInt32(s.live.Size)
	if have != v.SizeGiB {
		drift = append(drift, resource.Drift{Path: "size", Have: gib(have), Want: gib(v.SizeGiB), Replace: have > v.SizeGiB})
	}
	for _, d := range []resource.Drift{
		{Path: "type", Have: string(s.live.VolumeType), Want: string(types.VolumeTypeGp3)},
		{Path: "encrypted", Have: strconv.FormatBool(aws.ToBool(s.live.Encrypted)), Want: "true", Replace: true},
		{Path: "zone", Have: aws.ToString(s.live.AvailabilityZone), Want: v.Zone, Replace: true},
		{Path: "snapshot", Have: aws.ToString(s.live.SnapshotId), Want: cmp.Or(v.Snapshot, aws.ToString(s.live.SnapshotId)), Replace: true},
	} {
		if d.Have != d.Want {
			drift = append(drift, d)
		}
	}
	return found, drift, nil
}

// Advise says how the volume that is there can be had.
func (v *Volume) Advise(drift []resource.Drift) string {
	var out []string
	for _, d := range drift {
		switch {
		case d.Path == "zone" && v.Elsewhere != nil:
			out = append(out, v.Elsewhere(d.Have))
		case d.Path == "size" && d.Replace:
			out = append(out, "--data-volume-size "+strings.TrimSuffix(d.Have, " GiB")+" or more")
		case d.Path == "snapshot":
			out = append(out, "leave --data-snapshot out: the volume is not made again while it holds data")
		}
	}
	return strings.Join(out, " and ")
}

// CreateOnce makes it. Amazon takes the nonce as its token.
func (v *Volume) CreateOnce(ctx context.Context, nonce string) error {
	in := &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String(v.Zone), Size: aws.Int32(v.SizeGiB), VolumeType: types.VolumeTypeGp3,
		Encrypted: aws.Bool(true), ClientToken: aws.String(nonce),
		TagSpecifications: tagSpec(types.ResourceTypeVolume, v.In.marks(v.Name, nonce)),
	}
	if v.Snapshot != "" {
		in.SnapshotId = aws.String(v.Snapshot)
	}
	out, err := v.In.Clients.EC2.CreateVolume(ctx, in)
	if err != nil {
		return err
	}
	v.id = aws.ToString(out.VolumeId)
	return nil
}

// Made lists what was made under nonce.
func (v *Volume) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return volumes().made(ctx, v.In, nonce)
}

// Update changes tags, and lets it grow while it is in use. The
// file system on it grows when the machine notices. Amazon allows one change in
// six hours.
func (v *Volume) Update(ctx context.Context, drift []resource.Drift) error {
	if err := v.In.retag(ctx, v.id, drift); err != nil {
		return err
	}
	if len(tagged(drift)) == len(drift) {
		return nil
	}
	_, err := v.In.Clients.EC2.ModifyVolume(ctx, &ec2.ModifyVolumeInput{
		VolumeId: aws.String(v.id), Size: aws.Int32(v.SizeGiB), VolumeType: types.VolumeTypeGp3,
	})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// A change is under way: perhaps this one, whose reply was lost.
	_, left, findErr := v.Find(ctx)
	if findErr == nil && len(left) == 0 {
		return nil
	}
	return err
}

// Delete removes it with what is on it.
func (v *Volume) Delete(ctx context.Context) error { return v.In.deleteVolume(ctx, v.id) }

func (c *Cluster) deleteVolume(ctx context.Context, id string) error {
	return c.release(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: aws.String(id)})
		return err
	})
}

// volume looks at one volume, whoever's.
func (c *Cluster) volume(ctx context.Context, id string) (types.Volume, error) {
	out, err := c.Clients.EC2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return types.Volume{}, err
	}
	if len(out.Volumes) == 0 {
		return types.Volume{}, none("ec2:DescribeVolumes", id)
	}
	return out.Volumes[0], nil
}

// volumes does not list disks that are part of a machine.
func volumes() kind[types.Volume] {
	return kind[types.Volume]{
		name: KindVolume,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.Volume, error) {
			p := ec2.NewDescribeVolumesPaginator(c.Clients.EC2, &ec2.DescribeVolumesInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeVolumesOutput) []types.Volume { return o.Volumes })
		},
		look: func(v types.Volume) sight {
			s := sight{id: aws.ToString(v.VolumeId), tags: ec2TagMap(v.Tags), born: aws.ToTime(v.CreateTime), used: len(v.Attachments) > 0}
			s.fading = v.State == types.VolumeStateDeleting || v.State == types.VolumeStateDeleted
			// A machine's own disk goes with it. One that does not is listed when it
			// is on its own.
			s.fading = s.fading || s.used && s.tags[ResourceTag] == ""
			return s
		},
	}
}
