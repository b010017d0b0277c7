package storage

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Volume is an encrypted gp3 volume that outlives instances and is retained by `down`.
type Volume struct {
	In   *mark.Cluster
	Name string
	// Zone is the zone of its instance.
	Zone string
	// SizeGiB is its size, which can only grow.
	SizeGiB int32
	// Snapshot is the snapshot to restore, or empty for a blank volume.
	Snapshot string
	// Elsewhere returns the advice for a volume in another zone. It may be nil.
	Elsewhere func(zone string) string

	infra.Learned
}

// ID returns the resource ID "aws/volume/NAME".
func (v *Volume) ID() string { return mark.ResourceID(mark.KindVolume, v.Name) }

// Define implements infra.Defined.
func (v *Volume) Define() infra.Definition[types.Volume] {
	d := mark.Define(v.In, Volumes(v.In), v.Name, &v.Learned)
	d.Create, d.Compare, d.Change = v.createVolume, v.compareLive, v.growVolume
	d.Describe, d.Advise = v.describeSettings, v.driftAdvice
	return d
}

// describeSettings returns the size, type and zone for the plan.
func (v *Volume) describeSettings() []string {
	text := fmt.Sprintf("%s gp3, encrypted, in %s", GiB(v.SizeGiB), v.Zone)
	if v.Snapshot != "" {
		text += ", from " + v.Snapshot
	}
	return []string{text}
}

// compareLive compares the attributes of a volume. The plan rejects drift that cannot be corrected
// in place, because a volume is retained unless it is blank.
func (v *Volume) compareLive(_ context.Context, live types.Volume) ([]resource.Drift, error) {
	size := infra.Changeable("size", GiB(aws.ToInt32(live.Size)), GiB(v.SizeGiB))
	size.Replace = aws.ToInt32(live.Size) > v.SizeGiB
	return append(usedDrift(live), infra.Differences(
		size,
		infra.Changeable("type", string(live.VolumeType), string(types.VolumeTypeGp3)),
		infra.Fixed("encrypted", strconv.FormatBool(aws.ToBool(live.Encrypted)), "true"),
		infra.Fixed("zone", aws.ToString(live.AvailabilityZone), v.Zone),
		infra.Fixed("snapshot", aws.ToString(live.SnapshotId), cmp.Or(v.Snapshot, aws.ToString(live.SnapshotId))),
	)...), nil
}

// usedDrift returns the drift of the blank tag if the volume was attached manually.
func usedDrift(live types.Volume) []resource.Drift {
	if marks := mark.EC2TagMap(live.Tags); len(live.Attachments) > 0 && marks[mark.BlankTag] == mark.BlankYes {
		return infra.MarkDrift(marks, map[string]string{mark.BlankTag: mark.BlankNo})
	}
	return nil
}

// driftAdvice returns the advice for using the existing volume.
func (v *Volume) driftAdvice(drift []resource.Drift) string {
	var out []string
	for _, d := range drift {
		switch {
		case d.Path == "zone" && v.Elsewhere != nil:
			out = append(out, v.Elsewhere(d.Have))
		case d.Path == "size" && d.Replace:
			out = append(out, "set --data-volume-size to "+strings.TrimSuffix(d.Have, " GiB")+" or more")
		case d.Path == "snapshot":
			out = append(out, "omit --data-snapshot: a volume with data is not re-created")
		}
	}
	return strings.Join(out, " and ")
}

// createVolume creates the volume with the nonce as the client token.
func (v *Volume) createVolume(ctx context.Context, nonce string) error {
	marks := v.In.Marks(v.Name, nonce)
	if v.Snapshot == "" {
		marks[mark.BlankTag] = mark.BlankYes // until it is attached to an instance
	}
	in := &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String(v.Zone), Size: aws.Int32(v.SizeGiB), VolumeType: types.VolumeTypeGp3,
		Encrypted: aws.Bool(true), ClientToken: aws.String(nonce),
		TagSpecifications: mark.TagSpec(types.ResourceTypeVolume, marks),
	}
	if v.Snapshot != "" {
		in.SnapshotId = aws.String(v.Snapshot)
	}
	out, err := v.In.Clients.EC2.CreateVolume(ctx, in)
	if err != nil {
		return err
	}
	v.Learn(aws.ToString(out.VolumeId))
	return nil
}

// growVolume grows the volume, also while it is in use. The file system grows once the instance
// detects the new size. EC2 allows one modification in six hours.
func (v *Volume) growVolume(ctx context.Context, _ []resource.Drift) error {
	_, err := v.In.Clients.EC2.ModifyVolume(ctx, &ec2.ModifyVolumeInput{
		VolumeId: aws.String(v.Identity()), Size: aws.Int32(v.SizeGiB), VolumeType: types.VolumeTypeGp3,
	})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	// A modification is in progress, possibly this one if its response was lost.
	_, left, findErr := infra.Nonced(v).Find(ctx)
	if findErr == nil && len(left) == 0 {
		return nil
	}
	return err
}

func deleteVolume(ctx context.Context, c *mark.Cluster, id string) error {
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		_, err := c.Clients.EC2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: aws.String(id)})
		return err
	})
}

// DescribeVolume returns a volume of the cluster or the user.
func DescribeVolume(ctx context.Context, c *mark.Cluster, id string) (types.Volume, error) {
	out, err := c.Clients.EC2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
	if err != nil {
		return types.Volume{}, err
	}
	if len(out.Volumes) == 0 {
		return types.Volume{}, infra.Missing("ec2:DescribeVolumes", id)
	}
	return out.Volumes[0], nil
}

// Volumes returns the kind of the cluster's volumes, excluding root volumes of instances.
func Volumes(c *mark.Cluster) infra.Kind[types.Volume] {
	k := mark.Kind(mark.KindVolume, func(ctx context.Context, filters []types.Filter) ([]types.Volume, error) {
		p := ec2.NewDescribeVolumesPaginator(c.Clients.EC2, &ec2.DescribeVolumesInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeVolumesOutput) []types.Volume { return o.Volumes })
	}, func(v types.Volume) infra.Observed {
		s := infra.Observed{Identity: aws.ToString(v.VolumeId), Marks: mark.EC2TagMap(v.Tags), Created: aws.ToTime(v.CreateTime), Used: len(v.Attachments) > 0}
		s.Blank = s.Marks[mark.BlankTag] == mark.BlankYes && !s.Used && aws.ToString(v.SnapshotId) == ""
		s.Deleting = v.State == types.VolumeStateDeleting || v.State == types.VolumeStateDeleted
		// A root volume is deleted with its instance. One that is not is listed once it is
		// detached.
		s.Deleting = s.Deleting || s.Used && s.Marks[mark.ResourceTag] == ""
		return s
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteVolume(ctx, c, id) }
	return k
}

// GiB formats a size.
func GiB(n int32) string { return strconv.Itoa(int(n)) + " GiB" }
