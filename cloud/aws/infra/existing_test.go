package infra_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// brought holds the existing resources of a user.
type brought struct{ subnet, zone, group, role, volume infra.Existing }

func (h byHand) bring() brought {
	h.t.Helper()
	subnets, err := h.EC2.DescribeSubnets(h.t.Context(), &ec2.DescribeSubnetsInput{})
	must(h.t, err)
	place := subnets.Subnets[0]
	group, err := h.EC2.CreateSecurityGroup(h.t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("ours"), Description: aws.String("ours"), VpcId: place.VpcId,
	})
	must(h.t, err)
	role, err := h.IAM.CreateRole(h.t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("ours"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
	})
	must(h.t, err)
	volume, err := h.EC2.CreateVolume(h.t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: place.AvailabilityZone, Size: aws.Int32(100)})
	must(h.t, err)
	return brought{
		infra.Existing(*place.SubnetId), infra.Existing(*place.AvailabilityZone), infra.Existing(*group.GroupId),
		infra.Existing(*role.Role.RoleName), infra.Existing(*volume.VolumeId),
	}
}

func (b brought) cluster(c *mark.Cluster) []resource.Resource {
	profile := &identity.Profile{In: c, Name: "master", Role: b.role}
	master := &compute.Master{
		In: c, Name: "master", Image: awstest.ImageAMD64, Type: "m6i.large", Subnet: b.subnet, Groups: []infra.Ref{b.group},
		Profile: profile, PublicIP: true, RootGiB: 30,
	}
	return []resource.Resource{
		profile, infra.Nonced(master),
		&compute.Attachment{In: c, Name: "data", Volume: b.volume, Instance: master},
	}
}

// Existing resources of the user are used, and are unchanged after the deletion of the cluster,
// with or without its data.
func TestExistingResourcesAreUsedAndKept(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := inMemory(world)
				m.settleDown()
				b := byHand{m.clients(nil), t, m}.bring()
				m.settleDown()
				before := m.world.Live()
				m.draw = b.cluster
				must(t, m.up(t.Context()))
				m.settleDown()
				m.wantNothingToDo(t)
				if d := cmp.Diff(m.live(t), []string{"instance/master", "instance-profile/master"}); d != "" {
					t.Errorf("inventory: got -, want +:\n%s", d)
				}
				must(t, m.downAll(t.Context()))
				time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock: a machine's interface outlives it
				if d := cmp.Diff(m.world.Live(), before); d != "" {
					t.Errorf("afterwards: got -, want +:\n%s", d)
				}
			})
		})
	}
}
