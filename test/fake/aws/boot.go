package awstest

import (
	"encoding/base64"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// boot creates one instance with its interface and volumes.
func (s *site) boot(l launch, reservation string, index int) types.Instance {
	id, in := s.id("i"), l.in
	nic := s.addInterface(id, l)
	v := types.Instance{
		InstanceId: &id, ImageId: in.ImageId, InstanceType: in.InstanceType, KeyName: in.KeyName, ClientToken: in.ClientToken,
		AmiLaunchIndex: aws.Int32(int32(index)), Architecture: l.image.Architecture, LaunchTime: aws.Time(s.now()), EbsOptimized: in.EbsOptimized,
		Placement: &types.Placement{AvailabilityZone: l.subnet.AvailabilityZone, Tenancy: types.TenancyDefault},
		State:     state(types.InstanceStateNamePending), SubnetId: l.subnet.SubnetId, VpcId: l.subnet.VpcId,
		SecurityGroups: l.groups, IamInstanceProfile: l.profile, PrivateIpAddress: nic.PrivateIpAddress,
		RootDeviceName: l.image.RootDeviceName, RootDeviceType: l.image.RootDeviceType, VirtualizationType: types.VirtualizationTypeHvm,
		MetadataOptions: metadata(in.MetadataOptions), Tags: tagged(in.TagSpecifications, types.ResourceTypeInstance),
		NetworkInterfaces: []types.InstanceNetworkInterface{{
			NetworkInterfaceId: nic.NetworkInterfaceId, SubnetId: nic.SubnetId, VpcId: nic.VpcId, Groups: l.groups, PrivateIpAddress: nic.PrivateIpAddress,
			Attachment: &types.InstanceNetworkInterfaceAttachment{DeviceIndex: aws.Int32(0), DeleteOnTermination: aws.Bool(true), Status: types.AttachmentStatusAttached},
		}},
	}
	if nic.Association != nil {
		v.PublicIpAddress = nic.Association.PublicIp
	}
	if l.spot {
		v.InstanceLifecycle = types.InstanceLifecycleTypeSpot
		v.SpotInstanceRequestId = s.requested(l, id)
	}
	s.disks(&v, l)
	data, _ := base64.StdEncoding.DecodeString(aws.ToString(in.UserData)) // validated by look
	m := &machine{reservation: reservation, userData: string(data), protected: aws.ToBool(in.DisableApiTermination), public: l.public, shutdown: types.ShutdownBehaviorStop}
	if in.InstanceInitiatedShutdownBehavior != "" {
		m.shutdown = in.InstanceInitiatedShutdownBehavior
	}
	m.next, m.due = types.InstanceStateNameRunning, s.now().Add(s.opt.Boot)
	s.ec2.machines[id] = m
	return *s.ec2.instances.add(id, v)
}

func metadata(in *types.InstanceMetadataOptionsRequest) *types.InstanceMetadataOptionsResponse {
	out := &types.InstanceMetadataOptionsResponse{
		HttpTokens: types.HttpTokensStateOptional, HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpPutResponseHopLimit: aws.Int32(1),
		State: types.InstanceMetadataOptionsStateApplied, InstanceMetadataTags: types.InstanceMetadataTagsStateDisabled,
	}
	if in == nil {
		return out
	}
	if in.HttpTokens != "" {
		out.HttpTokens = in.HttpTokens
	}
	if in.HttpPutResponseHopLimit != nil {
		out.HttpPutResponseHopLimit = in.HttpPutResponseHopLimit
	}
	if in.InstanceMetadataTags != "" {
		out.InstanceMetadataTags = in.InstanceMetadataTags
	}
	return out
}

// disks creates the volumes of the image, as overridden and extended by the launch.
func (s *site) disks(v *types.Instance, l launch) {
	want := append([]types.BlockDeviceMapping{}, l.image.BlockDeviceMappings...)
	for _, m := range l.in.BlockDeviceMappings {
		if aws.ToString(m.DeviceName) == aws.ToString(l.image.RootDeviceName) {
			want[0] = overlay(want[0], m)
		} else {
			want = append(want, m)
		}
	}
	for _, m := range want {
		if m.Ebs == nil {
			continue
		}
		id := s.id("vol")
		ends := m.Ebs.DeleteOnTermination == nil || *m.Ebs.DeleteOnTermination
		vol := types.Volume{
			VolumeId: &id, Size: m.Ebs.VolumeSize, VolumeType: m.Ebs.VolumeType, Encrypted: aws.Bool(aws.ToBool(m.Ebs.Encrypted)), Iops: m.Ebs.Iops,
			Throughput: m.Ebs.Throughput, KmsKeyId: m.Ebs.KmsKeyId, SnapshotId: m.Ebs.SnapshotId, State: types.VolumeStateInUse, CreateTime: aws.Time(s.now()),
			AvailabilityZone: l.subnet.AvailabilityZone, Tags: tagged(l.in.TagSpecifications, types.ResourceTypeVolume),
		}
		s.ec2.volumes.add(id, vol)
		s.attachDisk(v, id, aws.ToString(m.DeviceName), ends)
	}
}

func overlay(image, asked types.BlockDeviceMapping) types.BlockDeviceMapping {
	e := *image.Ebs
	if a := asked.Ebs; a != nil {
		if a.VolumeSize != nil {
			e.VolumeSize = a.VolumeSize
		}
		if a.VolumeType != "" {
			e.VolumeType = a.VolumeType
		}
		if a.Encrypted != nil {
			e.Encrypted = a.Encrypted
		}
		if a.DeleteOnTermination != nil {
			e.DeleteOnTermination = a.DeleteOnTermination
		}
		e.Iops, e.Throughput, e.KmsKeyId = a.Iops, a.Throughput, a.KmsKeyId
	}
	image.Ebs = &e
	return image
}
