package checks

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// checkNetwork checks the network of the cluster, whether new or existing.
func (c *checker) checkNetwork(ctx context.Context) doctor.Result {
	if c.Spec.Network.Own() {
		return c.ownNetwork(ctx)
	}
	return c.existingNetwork(ctx)
}

// ownNetwork reports other networks with the same addresses. AWS allows them, but they cannot be
// peered with the cluster's VPC.
func (c *checker) ownNetwork(ctx context.Context) doctor.Result {
	const needed = "addresses that no other network of the account uses"
	want, err := netip.ParsePrefix(c.Spec.Network.CIDR)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	same, err := c.facts.Overlapping(ctx, want, c.Spec.Cluster)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(same) > 0 {
		return doctor.Unsure(strings.Join(same, ", "), needed, "choose another range with --network-cidr if the networks will ever be peered")
	}
	return doctor.Passed("%s in %s", want, strings.Join(c.Known.Used(), ", "))
}

// agentsWayOut fails for a new VPC whose agents have no public addresses, because det-deploy
// creates no NAT gateway. It passes for a VPC that exists, whose owner may have added one.
func (c *checker) agentsWayOut(ctx context.Context) doctor.Result {
	return c.FailNew(ctx, "agents have no public addresses, and det-deploy creates no NAT gateway in the cluster's VPC",
		"internet access for agents, which pull images and call AWS",
		"leave --agent-public-ip true, or name a VPC that has a NAT gateway with --vpc and --subnet; a NAT gateway that you have added to the cluster's VPC also works")
}

// existingNetwork checks that the subnets belong to the VPC and have a route to the internet, from
// which machines download programs and images. Agents may reach it through a proxy instead.
func (c *checker) existingNetwork(ctx context.Context) doctor.Result {
	const needed = "subnets of the VPC with a route to the internet"
	names := c.ExistingSubnets()
	out, err := c.Clients.EC2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: names})
	if err != nil {
		return doctor.FromError(err, needed)
	}
	tables, err := c.facts.RouteTables(ctx, c.Spec.Network.VPC)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	var wrong []string
	for _, s := range out.Subnets {
		id := aws.ToString(s.SubnetId)
		if vpc := aws.ToString(s.VpcId); vpc != c.Spec.Network.VPC {
			wrong = append(wrong, fmt.Sprintf("%s is in %s", id, vpc))
			continue
		}
		gateway := facts.DefaultRoute(tables, id)
		public := id == c.MasterSubnet() || c.Spec.Network.PublicIP
		switch {
		case gateway == "" && c.Spec.Proxy.InUse() && !public:
		case gateway == "":
			wrong = append(wrong, id+" has no route to the internet")
		case public && !strings.HasPrefix(gateway, "igw-"):
			wrong = append(wrong, fmt.Sprintf("%s routes to the internet through %s, where public addresses do not work", id, gateway))
		}
	}
	if v := c.Known.VolumeZone; v != "" && v != c.Known.Master.Zone {
		apart := fmt.Sprintf("the existing volume is in %s and the master's subnet in %s", v, c.Known.Master.Zone)
		if len(wrong) == 0 {
			return doctor.Failed(apart, needed, c.MoveMaster(v))
		}
		wrong = append(wrong, apart)
	}
	if len(wrong) > 0 {
		fix := "choose others with --subnet and --master-subnet, or add a route"
		if c.Spec.Network.PublicIP {
			fix += "; for agents behind a NAT gateway, set --agent-public-ip=false"
		}
		return doctor.Failed(strings.Join(wrong, "; "), needed, fix)
	}
	return doctor.Passed("%s in %s", strings.Join(names, ", "), c.Spec.Network.VPC)
}
