package parts

import (
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// describeAWS adds the configuration of EC2 instances to the API's description of a pool.
func describeAWS(p provider.AWS, out *apiv1.ResourcePool) {
	out.Type = apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_AWS
	out.Location, out.ImageId = p.Region, p.ImageID
	gpus, _ := provider.AWSSlots(p.Types()[0])
	if slots, _ := p.Slots(p.Types()[0]); gpus > 0 || p.InstanceSlots != nil {
		out.SlotType = slotType(out, slots, apiv1.Device_TYPE_CUDA)
	} else {
		out.SlotType = slotType(out, slots, apiv1.Device_TYPE_CPU)
	}
	d := &apiv1.ResourcePoolAwsDetail{
		Region: p.Region, RootVolumeSize: int32(p.RootVolumeSize), ImageId: p.ImageID, //nolint:gosec // GB of one volume
		TagKey: p.TagKey, TagValue: p.TagValue, InstanceName: p.InstanceName, SshKeyName: p.SSHKeyName,
		PublicIp: p.NetworkInterface.PublicIP, SubnetId: p.NetworkInterface.SubnetID, SecurityGroupId: p.NetworkInterface.SecurityGroupID,
		IamInstanceProfileArn: p.IAMInstanceProfileARN, InstanceType: p.Types()[0],
		LogGroup: p.LogGroup, LogStream: p.LogStream, SpotEnabled: p.Spot.Enabled, SpotMaxPrice: p.SpotMaxPrice,
	}
	if p.Spot.MaxPrice != "" {
		d.SpotMaxPrice = p.Spot.MaxPrice
	}
	if len(p.Subnets) > 0 {
		d.SubnetId = p.Subnets[0] // the API has a single subnet
	}
	for _, t := range p.CustomTags {
		d.CustomTags = append(d.CustomTags, &apiv1.AwsCustomTag{Key: t.Key, Value: t.Value})
	}
	if out.GetDetails() == nil {
		out.Details = &apiv1.ResourcePoolDetail{}
	}
	out.Details.Aws = d
}

// describeGCP adds the configuration of Compute Engine instances to the API's description of a pool. The
// API has a single zone and machine type.
func describeGCP(p provider.GCP, zones []string, out *apiv1.ResourcePool) {
	out.Type = apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_GCP
	out.Location, out.ImageId = strings.Join(zones, ", "), p.BootDiskSourceImage
	first := p.Machines()[0]
	kind := apiv1.Device_TYPE_CPU
	if p.GPUs(first) > 0 {
		kind = apiv1.Device_TYPE_CUDA
	}
	out.SlotType = slotType(out, p.Slots(first), kind)
	machine := first.Type()
	if out.GetDetails() == nil {
		out.Details = &apiv1.ResourcePoolDetail{}
	}
	out.Details.Gcp = &apiv1.ResourcePoolGcpDetail{
		Project: p.Project, Zone: zones[0], BootDiskSize: int32(p.BootDiskSize), BootDiskSourceImage: p.BootDiskSourceImage, //nolint:gosec // GB of one disk
		LabelKey: p.LabelKey, LabelValue: p.LabelValue, NamePrefix: p.NamePrefix,
		Network: p.NetworkInterface.Network, Subnetwork: p.NetworkInterface.Subnetwork, ExternalIp: p.NetworkInterface.ExternalIP, NetworkTags: p.NetworkTags,
		ServiceAccountEmail: p.ServiceAccount.Email, ServiceAccountScopes: p.ServiceAccount.Scopes,
		MachineType: machine.MachineType, GpuType: machine.GPUType, GpuNum: int32(p.GPUs(first)), //nolint:gosec // GPUs of one machine
		Preemptible: p.IsSpot(), OperationTimeoutPeriod: float32(time.Duration(p.OperationTimeoutPeriod).Seconds()),
	}
}

// slotType returns the slot type of the pool's agents or, if there are none, the expected type.
func slotType(out *apiv1.ResourcePool, slots int, of apiv1.Device_Type) apiv1.Device_Type {
	if out.GetSlotType() != apiv1.Device_TYPE_UNSPECIFIED || slots == 0 {
		return out.GetSlotType()
	}
	return of
}
