package parts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

func TestDescribeAWS(t *testing.T) {
	t.Parallel()
	var p provider.AWS
	p.SetDefaults()
	p.Region, p.ImageID, p.SSHKeyName, p.InstanceTypes = "us-west-2", "ami-1", "key", []string{"g5.xlarge", "g4dn.xlarge"}
	p.Subnets, p.Spot = []string{"subnet-1", "subnet-2"}, provider.Spot{Enabled: true, MaxPrice: "1.5"}
	p.CustomTags = []provider.Tag{{Key: "team", Value: "vision"}}
	got := &apiv1.ResourcePool{Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_STATIC}
	describeAWS(p, got)
	want := &apiv1.ResourcePool{
		Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_AWS, Location: "us-west-2", ImageId: "ami-1",
		SlotType: apiv1.Device_TYPE_CUDA,
		Details: &apiv1.ResourcePoolDetail{Aws: &apiv1.ResourcePoolAwsDetail{
			Region: "us-west-2", RootVolumeSize: 200, ImageId: "ami-1", TagKey: "managed_by", InstanceName: "determined-ai-agent",
			SshKeyName: "key", PublicIp: true, SubnetId: "subnet-1", InstanceType: "g5.xlarge", SpotEnabled: true, SpotMaxPrice: "1.5",
			CustomTags: []*apiv1.AwsCustomTag{{Key: "team", Value: "vision"}},
		}},
	}
	if d := cmp.Diff(got, want, protocmp.Transform()); d != "" {
		t.Errorf("got −, want +:\n%s", d)
	}
}
