package awstest

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func volumeLook() look[types.Volume] {
	return look[types.Volume]{
		absent: "InvalidVolume.NotFound",
		tags:   func(v types.Volume) []types.Tag { return v.Tags },
		field: func(v types.Volume, name string) (out []string, ok bool) {
			switch name {
			case "volume-id":
				return []string{*v.VolumeId}, true
			case "status":
				return []string{string(v.State)}, true
			case "snapshot-id":
				return []string{aws.ToString(v.SnapshotId)}, true
			case "availability-zone":
				return []string{*v.AvailabilityZone}, true
			case "attachment.instance-id":
				for _, a := range v.Attachments {
					out = append(out, *a.InstanceId)
				}
				return out, true
			}
			return nil, false
		},
	}
}

func (s *site) describeVolumes(in *ec2.DescribeVolumesInput) (*ec2.DescribeVolumesOutput, error) {
	all, err := find(s.ec2.volumes, in.VolumeIds, in.Filters, volumeLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeVolumesOutput{Volumes: some, NextToken: next}, err
}

// createVolume is idempotent by its client token.
func (s *site) createVolume(in *ec2.CreateVolumeInput) (*ec2.CreateVolumeOutput, error) {
	if v, ok := again[types.Volume](s, s.ec2.volumes, "CreateVolume", in.ClientToken); ok {
		return volumeOut(*v), nil
	}
	zone, size := aws.ToString(in.AvailabilityZone), in.Size
	if !slices.Contains(s.zones(), zone) {
		return nil, refuse(400, "InvalidZone.NotFound", "The zone '"+zone+"' does not exist.")
	}
	if in.SnapshotId != nil {
		snap, ok := s.ec2.snapshots.ask(*in.SnapshotId)
		if !ok {
			return nil, refuse(400, "InvalidSnapshot.NotFound", "The snapshot '"+*in.SnapshotId+"' does not exist.")
		}
		if snap.State != types.SnapshotStateCompleted {
			return nil, refuse(400, "IncorrectState", "Snapshot is in invalid state - "+string(snap.State))
		}
		if size == nil {
			size = snap.VolumeSize
		}
		if *size < *snap.VolumeSize {
			return nil, invalid("Volume of %dGiB is smaller than snapshot '%s', expect size >= %dGiB", *size, *in.SnapshotId, *snap.VolumeSize)
		}
	}
	if aws.ToInt32(size) < 1 {
		return nil, missing("size/snapshot")
	}
	id := s.id("vol")
	v := s.ec2.volumes.add(id, types.Volume{
		VolumeId: &id, AvailabilityZone: &zone, Size: size, VolumeType: cmp.Or(in.VolumeType, types.VolumeTypeGp2), SnapshotId: in.SnapshotId,
		Encrypted: aws.Bool(aws.ToBool(in.Encrypted)), KmsKeyId: in.KmsKeyId, Iops: in.Iops, Throughput: in.Throughput,
		State: types.VolumeStateCreating, CreateTime: aws.Time(s.now()), Tags: tagged(in.TagSpecifications, types.ResourceTypeVolume),
	})
	s.setBusy(id)
	s.made("CreateVolume", in.ClientToken, id)
	return volumeOut(*v), nil
}

func volumeOut(v types.Volume) *ec2.CreateVolumeOutput {
	return &ec2.CreateVolumeOutput{
		VolumeId: v.VolumeId, AvailabilityZone: v.AvailabilityZone, Size: v.Size, VolumeType: v.VolumeType, SnapshotId: v.SnapshotId,
		Encrypted: v.Encrypted, State: v.State, CreateTime: v.CreateTime, Tags: v.Tags, Iops: v.Iops, Throughput: v.Throughput, KmsKeyId: v.KmsKeyId,
	}
}

func noVolume(id *string) error {
	return refuse(400, "InvalidVolume.NotFound", "The volume '"+aws.ToString(id)+"' does not exist.")
}

// modifyVolume can only grow a volume.
func (s *site) modifyVolume(in *ec2.ModifyVolumeInput) (*ec2.ModifyVolumeOutput, error) {
	v, ok := s.ec2.volumes.ask(aws.ToString(in.VolumeId))
	if !ok {
		return nil, noVolume(in.VolumeId)
	}
	if in.Size != nil && *in.Size < *v.Size {
		return nil, invalid("New size cannot be smaller than existing size")
	}
	if in.Size != nil {
		v.Size = in.Size
	}
	if in.VolumeType != "" {
		v.VolumeType = in.VolumeType
	}
	if in.Iops != nil {
		v.Iops = in.Iops
	}
	if in.Throughput != nil {
		v.Throughput = in.Throughput
	}
	return &ec2.ModifyVolumeOutput{VolumeModification: &types.VolumeModification{VolumeId: v.VolumeId, TargetSize: v.Size, ModificationState: types.VolumeModificationStateCompleted}}, nil
}

func (s *site) deleteVolume(in *ec2.DeleteVolumeInput) (*ec2.DeleteVolumeOutput, error) {
	v, ok := s.ec2.volumes.get(aws.ToString(in.VolumeId))
	if !ok {
		return nil, noVolume(in.VolumeId)
	}
	if len(v.Attachments) > 0 {
		return nil, refuse(400, "VolumeInUse", "Volume "+*v.VolumeId+" is currently attached to "+*v.Attachments[0].InstanceId)
	}
	s.ec2.volumes.remove(*v.VolumeId)
	return &ec2.DeleteVolumeOutput{}, nil
}
