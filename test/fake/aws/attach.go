package awstest

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// attachDisk attaches a volume to an instance.
func (s *site) attachDisk(m *types.Instance, volume, device string, ends bool) {
	v, _ := s.ec2.volumes.get(volume) // callers have checked that it exists
	v.State = types.VolumeStateInUse
	v.Attachments = []types.VolumeAttachment{{
		VolumeId: v.VolumeId, InstanceId: m.InstanceId, Device: &device, DeleteOnTermination: &ends,
		State: types.VolumeAttachmentStateAttached, AttachTime: aws.Time(s.now()),
	}}
	m.BlockDeviceMappings = append(slices.Clone(m.BlockDeviceMappings), types.InstanceBlockDeviceMapping{
		DeviceName: &device, Ebs: &types.EbsInstanceBlockDevice{VolumeId: v.VolumeId, DeleteOnTermination: &ends, Status: types.AttachmentStatusAttached, AttachTime: aws.Time(s.now())},
	})
}

func (s *site) attachVolume(in *ec2.AttachVolumeInput) (*ec2.AttachVolumeOutput, error) {
	v, ok := s.ec2.volumes.ask(aws.ToString(in.VolumeId))
	if !ok {
		return nil, noVolume(in.VolumeId)
	}
	m, ok := s.ec2.instances.ask(aws.ToString(in.InstanceId))
	if !ok {
		return nil, noInstance(aws.ToString(in.InstanceId))
	}
	device := aws.ToString(in.Device)
	taken := slices.ContainsFunc(m.BlockDeviceMappings, func(b types.InstanceBlockDeviceMapping) bool { return aws.ToString(b.DeviceName) == device })
	st := m.State.Name
	switch {
	case len(v.Attachments) > 0:
		return nil, refuse(400, "VolumeInUse", *v.VolumeId+" is already attached to an instance")
	case v.State != types.VolumeStateAvailable:
		return nil, refuse(400, "IncorrectState", "'"+*v.VolumeId+"' is not 'available'.")
	case st != types.InstanceStateNameRunning && st != types.InstanceStateNameStopped:
		return nil, refuse(400, "IncorrectState", "Instance '"+*m.InstanceId+"' is not 'running'.")
	case *v.AvailabilityZone != *m.Placement.AvailabilityZone:
		return nil, refuse(400, "InvalidVolume.ZoneMismatch", "The volume '"+*v.VolumeId+"' is not in the same availability zone as instance '"+*m.InstanceId+"'")
	case taken:
		return nil, invalid("Invalid value '%s' for unixDevice. Attachment point %s is already in use", device, device)
	}
	s.attachDisk(m, *v.VolumeId, device, false)
	a := v.Attachments[0]
	return &ec2.AttachVolumeOutput{VolumeId: v.VolumeId, InstanceId: m.InstanceId, Device: &device, State: types.VolumeAttachmentStateAttached, AttachTime: a.AttachTime, DeleteOnTermination: a.DeleteOnTermination}, nil
}

// detachVolume detaches a volume, even from a running instance.
func (s *site) detachVolume(in *ec2.DetachVolumeInput) (*ec2.DetachVolumeOutput, error) {
	v, ok := s.ec2.volumes.ask(aws.ToString(in.VolumeId))
	if !ok {
		return nil, noVolume(in.VolumeId)
	}
	if len(v.Attachments) == 0 {
		return nil, refuse(400, "IncorrectState", "Volume '"+*v.VolumeId+"' is in the 'available' state.")
	}
	a := v.Attachments[0]
	if in.InstanceId != nil && *in.InstanceId != *a.InstanceId {
		return nil, refuse(400, "InvalidAttachment.NotFound", "The volume '"+*v.VolumeId+"' is not attached to instance '"+*in.InstanceId+"'.")
	}
	if m, ok := s.ec2.instances.get(*a.InstanceId); ok {
		if m.State.Name == types.InstanceStateNameRunning && aws.ToString(m.RootDeviceName) == aws.ToString(a.Device) {
			return nil, refuse(400, "OperationNotPermitted", "Unable to detach root volume '"+*v.VolumeId+"' from instance '"+*a.InstanceId+"'")
		}
		m.BlockDeviceMappings = slices.DeleteFunc(slices.Clone(m.BlockDeviceMappings), func(b types.InstanceBlockDeviceMapping) bool { return *b.Ebs.VolumeId == *v.VolumeId })
	}
	a.State = types.VolumeAttachmentStateDetaching
	v.Attachments = []types.VolumeAttachment{a}
	s.setBusy(*v.VolumeId)
	return &ec2.DetachVolumeOutput{VolumeId: v.VolumeId, InstanceId: a.InstanceId, Device: a.Device, State: types.VolumeAttachmentStateDetaching}, nil
}

// setBusy marks an object as busy for the duration in the options.
func (s *site) setBusy(id string) {
	s.ec2.busy[id] = s.now().Add(s.opt.Disk)
	s.settleDisks(s.now())
}

// settleDisks completes the transitions that are due: volumes become available, snapshots
// completed.
func (s *site) settleDisks(now time.Time) {
	for id, until := range s.ec2.busy {
		if now.Before(until) {
			continue
		}
		delete(s.ec2.busy, id)
		if v, ok := s.ec2.volumes.get(id); ok {
			v.Attachments, v.State = nil, types.VolumeStateAvailable
		}
		if v, ok := s.ec2.snapshots.get(id); ok {
			v.State, v.Progress = types.SnapshotStateCompleted, aws.String("100%")
		}
	}
}
