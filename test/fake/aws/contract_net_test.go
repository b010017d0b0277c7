package awstest_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

func netFacts() []fact {
	return []fact{
		{name: "a network carries the tags of the call that made it", check: func(t *testing.T, s stand) {
			id := s.vpc(t, "10.1.0.0/16")
			out := get[*ec2.DescribeVpcsOutput](t)(s.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: byTag("lab")}))
			if len(out.Vpcs) != 1 || *out.Vpcs[0].VpcId != id {
				t.Errorf("got %d networks by tag, want the one", len(out.Vpcs))
			}
			other := get[*ec2.DescribeVpcsOutput](t)(s.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: byTag("other")}))
			if len(other.Vpcs) != 0 {
				t.Errorf("got %d networks of another cluster, want none", len(other.Vpcs))
			}
		}},
		{name: "asking twice for a network makes two", check: func(t *testing.T, s stand) {
			first, second := s.vpc(t, "10.1.0.0/16"), s.vpc(t, "10.1.0.0/16")
			if first == second {
				t.Errorf("got %s twice, want two", first)
			}
		}},
		{name: "subnets do not overlap", check: func(t *testing.T, s stand) {
			vpc := s.vpc(t, "10.1.0.0/16")
			s.subnet(t, vpc, "10.1.0.0/24")
			refused[*ec2.CreateSubnetOutput](t, cloud.Conflict)(s.EC2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: &vpc, CidrBlock: aws.String("10.1.0.128/25")}))
			refused[*ec2.CreateSubnetOutput](t, cloud.Invalid)(s.EC2.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: &vpc, CidrBlock: aws.String("10.2.0.0/24")}))
		}},
		{name: "a network in use stays", check: func(t *testing.T, s stand) {
			vpc := s.vpc(t, "10.1.0.0/16")
			gw := s.gateway(t, vpc)
			sub := s.subnet(t, vpc, "10.1.0.0/24")
			drop := func(want cloud.Kind) {
				t.Helper()
				refused[*ec2.DeleteVpcOutput](t, want)(s.EC2.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: &vpc}))
			}
			drop(cloud.Conflict)
			get[*ec2.DeleteSubnetOutput](t)(s.EC2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: &sub}))
			drop(cloud.Conflict)
			refused[*ec2.DeleteInternetGatewayOutput](t, cloud.Conflict)(s.EC2.DeleteInternetGateway(t.Context(), &ec2.DeleteInternetGatewayInput{InternetGatewayId: &gw}))
			get[*ec2.DetachInternetGatewayOutput](t)(s.EC2.DetachInternetGateway(t.Context(), &ec2.DetachInternetGatewayInput{InternetGatewayId: &gw, VpcId: &vpc}))
			drop("")
			drop(cloud.NotFound)
		}},
		{name: "a gateway has one network, and a network one gateway", check: func(t *testing.T, s stand) {
			vpc := s.vpc(t, "10.1.0.0/16")
			gw := s.gateway(t, vpc)
			refused[*ec2.AttachInternetGatewayOutput](t, cloud.Conflict)(s.EC2.AttachInternetGateway(t.Context(), &ec2.AttachInternetGatewayInput{VpcId: &vpc, InternetGatewayId: &gw}))
		}},
		{name: "a machine keeps its subnet, its address the gateway", check: func(t *testing.T, s stand) {
			vpc := s.vpc(t, "10.1.0.0/16")
			gw, sub := s.gateway(t, vpc), s.subnet(t, vpc, "10.1.0.0/24")
			m := s.machine(t, func(in *ec2.RunInstancesInput) {
				in.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &sub, AssociatePublicIpAddress: aws.Bool(true), DeleteOnTermination: aws.Bool(true)}}
			})
			refused[*ec2.DeleteSubnetOutput](t, cloud.Conflict)(s.EC2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: &sub}))
			refused[*ec2.DetachInternetGatewayOutput](t, cloud.Conflict)(s.EC2.DetachInternetGateway(t.Context(), &ec2.DetachInternetGatewayInput{InternetGatewayId: &gw, VpcId: &vpc}))
			s.end(t, *m.InstanceId)
			s.instance(t, *m.InstanceId)
			get[*ec2.DetachInternetGatewayOutput](t)(s.EC2.DetachInternetGateway(t.Context(), &ec2.DetachInternetGatewayInput{InternetGatewayId: &gw, VpcId: &vpc}))
			get[*ec2.DeleteSubnetOutput](t)(s.EC2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: &sub}))
		}},
		{name: "a table of routes in use stays", check: func(t *testing.T, s stand) {
			vpc := s.vpc(t, "10.1.0.0/16")
			gw, sub := s.gateway(t, vpc), s.subnet(t, vpc, "10.1.0.0/24")
			rt := *get[*ec2.CreateRouteTableOutput](t)(s.EC2.CreateRouteTable(t.Context(), &ec2.CreateRouteTableInput{VpcId: &vpc})).RouteTable.RouteTableId
			get[*ec2.CreateRouteOutput](t)(s.EC2.CreateRoute(t.Context(), &ec2.CreateRouteInput{RouteTableId: &rt, GatewayId: &gw, DestinationCidrBlock: aws.String("0.0.0.0/0")}))
			as := *get[*ec2.AssociateRouteTableOutput](t)(s.EC2.AssociateRouteTable(t.Context(), &ec2.AssociateRouteTableInput{RouteTableId: &rt, SubnetId: &sub})).AssociationId
			refused[*ec2.DeleteRouteTableOutput](t, cloud.Conflict)(s.EC2.DeleteRouteTable(t.Context(), &ec2.DeleteRouteTableInput{RouteTableId: &rt}))
			get[*ec2.DisassociateRouteTableOutput](t)(s.EC2.DisassociateRouteTable(t.Context(), &ec2.DisassociateRouteTableInput{AssociationId: &as}))
			refused[*ec2.DisassociateRouteTableOutput](t, cloud.NotFound)(s.EC2.DisassociateRouteTable(t.Context(), &ec2.DisassociateRouteTableInput{AssociationId: &as}))
			get[*ec2.DeleteRouteTableOutput](t)(s.EC2.DeleteRouteTable(t.Context(), &ec2.DeleteRouteTableInput{RouteTableId: &rt}))
		}},
		{name: "an address in use is not given back", check: func(t *testing.T, s stand) {
			a := get[*ec2.AllocateAddressOutput](t)(s.EC2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc, TagSpecifications: tags(types.ResourceTypeElasticIp, "lab")}))
			m := s.machine(t, nil)
			s.instance(t, *m.InstanceId)
			as := *get[*ec2.AssociateAddressOutput](t)(s.EC2.AssociateAddress(t.Context(), &ec2.AssociateAddressInput{AllocationId: a.AllocationId, InstanceId: m.InstanceId})).AssociationId
			refused[*ec2.ReleaseAddressOutput](t, cloud.Conflict)(s.EC2.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: a.AllocationId}))
			out := get[*ec2.DescribeAddressesOutput](t)(s.EC2.DescribeAddresses(t.Context(), &ec2.DescribeAddressesInput{Filters: byTag("lab")}))
			if len(out.Addresses) != 1 || aws.ToString(out.Addresses[0].InstanceId) != *m.InstanceId {
				t.Errorf("got %+v, want the address with its machine", out.Addresses)
			}
			get[*ec2.DisassociateAddressOutput](t)(s.EC2.DisassociateAddress(t.Context(), &ec2.DisassociateAddressInput{AssociationId: &as}))
			get[*ec2.ReleaseAddressOutput](t)(s.EC2.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: a.AllocationId}))
			refused[*ec2.ReleaseAddressOutput](t, cloud.NotFound)(s.EC2.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: a.AllocationId}))
		}},
		{name: "missing objects are not found", check: func(t *testing.T, s stand) {
			ctx := t.Context()
			refused[*ec2.DescribeVpcsOutput](t, cloud.NotFound)(s.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{"vpc-0123456789abcdef0"}}))
			refused[*ec2.DeleteSubnetOutput](t, cloud.NotFound)(s.EC2.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: aws.String("subnet-0123456789abcdef0")}))
			refused[*ec2.CreateSubnetOutput](t, cloud.NotFound)(s.EC2.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: aws.String("vpc-0123456789abcdef0"), CidrBlock: aws.String("10.1.0.0/24")}))
			refused[*ec2.DeleteInternetGatewayOutput](t, cloud.NotFound)(s.EC2.DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: aws.String("igw-0123456789abcdef0")}))
			refused[*ec2.DeleteRouteTableOutput](t, cloud.NotFound)(s.EC2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: aws.String("rtb-0123456789abcdef0")}))
			refused[*ec2.DeleteSecurityGroupOutput](t, cloud.NotFound)(s.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String("sg-0123456789abcdef0")}))
			refused[*ec2.TerminateInstancesOutput](t, cloud.NotFound)(s.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}}))
			refused[*ec2.DeleteVolumeOutput](t, cloud.NotFound)(s.EC2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: aws.String("vol-0123456789abcdef0")}))
			refused[*ec2.DeleteSnapshotOutput](t, cloud.NotFound)(s.EC2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: aws.String("snap-0123456789abcdef0")}))
			refused[*ec2.DescribeKeyPairsOutput](t, cloud.NotFound)(s.EC2.DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{KeyNames: []string{"nobody"}}))
			refused[*ec2.CreateTagsOutput](t, cloud.NotFound)(s.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{"vol-0123456789abcdef0"}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}))
		}},
		{name: "a missing endpoint is reported in the response", moto: "refuses instead", check: func(t *testing.T, s stand) {
			out := get[*ec2.DeleteVpcEndpointsOutput](t)(s.EC2.DeleteVpcEndpoints(t.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{"vpce-0123456789abcdef0"}}))
			if len(out.Unsuccessful) != 1 || *out.Unsuccessful[0].Error.Code != "InvalidVpcEndpointId.NotFound" {
				t.Errorf("got %+v, want one that was not found", out.Unsuccessful)
			}
		}},
		{name: "tags are added, changed and removed", check: func(t *testing.T, s stand) {
			id := s.vpc(t, "10.1.0.0/16")
			tag := func(k, v string) []types.Tag { return []types.Tag{{Key: &k, Value: &v}} }
			get[*ec2.CreateTagsOutput](t)(s.EC2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: tag("team", "ml")}))
			get[*ec2.CreateTagsOutput](t)(s.EC2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: tag("team", "infra")}))
			get[*ec2.DeleteTagsOutput](t)(s.EC2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("det-deploy-cluster")}}}))
			got := get[*ec2.DescribeVpcsOutput](t)(s.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{id}})).Vpcs[0].Tags
			if len(got) != 1 || *got[0].Key != "team" || *got[0].Value != "infra" {
				t.Errorf("got %+v, want team=infra only", got)
			}
		}},
	}
}

func tcp(port int32, cidr string) []types.IpPermission {
	return []types.IpPermission{{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port, IpRanges: []types.IpRange{{CidrIp: &cidr}}}}
}

func groupFacts() []fact {
	return []fact{
		{name: "a group's name is its own in a network", check: func(t *testing.T, s stand) {
			vpc := s.vpc(t, "10.1.0.0/16")
			s.group(t, vpc, "master")
			refused[*ec2.CreateSecurityGroupOutput](t, cloud.Conflict)(s.EC2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{VpcId: &vpc, GroupName: aws.String("master"), Description: aws.String("again")}))
		}},
		{name: "duplicate rules and revoking missing rules fail", check: func(t *testing.T, s stand) {
			id := s.group(t, s.vpc(t, "10.1.0.0/16"), "master")
			in := &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &id, IpPermissions: tcp(8080, "10.0.0.0/8")}
			get[*ec2.AuthorizeSecurityGroupIngressOutput](t)(s.EC2.AuthorizeSecurityGroupIngress(t.Context(), in))
			refused[*ec2.AuthorizeSecurityGroupIngressOutput](t, cloud.Conflict)(s.EC2.AuthorizeSecurityGroupIngress(t.Context(), in))
			refused[*ec2.RevokeSecurityGroupIngressOutput](t, cloud.NotFound)(s.EC2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &id, IpPermissions: tcp(22, "10.0.0.0/8")}))
			get[*ec2.RevokeSecurityGroupIngressOutput](t)(s.EC2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &id, IpPermissions: tcp(8080, "10.0.0.0/8")}))
			g := get[*ec2.DescribeSecurityGroupsOutput](t)(s.EC2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})).SecurityGroups[0]
			if len(g.IpPermissions) != 0 || len(g.IpPermissionsEgress) != 1 {
				t.Errorf("got %d rules in and %d out, want 0 and the one that lets everything out", len(g.IpPermissions), len(g.IpPermissionsEgress))
			}
		}},
		{name: "rules for one port are one entry", check: func(t *testing.T, s stand) {
			id := s.group(t, s.vpc(t, "10.1.0.0/16"), "master")
			for _, cidr := range []string{"10.0.0.0/8", "192.168.0.0/16"} {
				get[*ec2.AuthorizeSecurityGroupIngressOutput](t)(s.EC2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &id, IpPermissions: tcp(8080, cidr)}))
			}
			g := get[*ec2.DescribeSecurityGroupsOutput](t)(s.EC2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})).SecurityGroups[0]
			if len(g.IpPermissions) != 1 || len(g.IpPermissions[0].IpRanges) != 2 {
				t.Errorf("got %+v, want one entry with two ranges", g.IpPermissions)
			}
		}},
		{name: "a group in use stays", check: func(t *testing.T, s stand) {
			vpc := s.vpc(t, "10.1.0.0/16")
			sub, id, other := s.subnet(t, vpc, "10.1.0.0/24"), s.group(t, vpc, "master"), s.group(t, vpc, "agent")
			get[*ec2.AuthorizeSecurityGroupIngressOutput](t)(s.EC2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: &id, IpPermissions: []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &other}}}},
			}))
			m := s.machine(t, func(in *ec2.RunInstancesInput) {
				in.NetworkInterfaces = []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &sub, Groups: []string{id}, DeleteOnTermination: aws.Bool(true)}}
			})
			drop := func(g string, want cloud.Kind) {
				t.Helper()
				refused[*ec2.DeleteSecurityGroupOutput](t, want)(s.EC2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &g}))
			}
			drop(other, cloud.Conflict)
			drop(id, cloud.Conflict)
			s.end(t, *m.InstanceId)
			s.instance(t, *m.InstanceId)
			drop(id, "")
			drop(other, "")
		}},
	}
}
