package aws_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/installer/doctor"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// variant is a configuration of a cluster and its account.
type variant struct {
	name string
	// prepare creates the user's resources and returns the flags that name them.
	prepare func(t *testing.T, c *cloudy) []string
	// change lists the flags of a later `up`.
	change []string
}

func layouts() []variant {
	return []variant{
		{"default", nothing, []string{"max-agents", "9", "inbound-cidr", "198.51.100.0/24,203.0.113.0/24", "tag", "team=ml"}},
		{"existing VPC and groups", existing, []string{"aux-instance-type", "m6i.xlarge", "data-volume-size", "200"}},
		{"spot pools", spotPools, []string{"spot-max-price", "1.25", "keep-log-group", "true"}},
		{"volume from snapshot", fromSnapshot, []string{"master-instance-type", "m6i.xlarge", "db-url", "env:DB_URL"}},
	}
}

func nothing(*testing.T, *cloudy) []string { return nil }

func spotPools(t *testing.T, c *cloudy) []string {
	a := c.clients(nil).IAM
	_, err := a.CreateServiceLinkedRole(t.Context(), &iam.CreateServiceLinkedRoleInput{AWSServiceName: sdk.String("spot.amazonaws.com")})
	must(t, err)
	if c.world == nil { // moto generates the name
		_, err := a.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: sdk.String("AWSServiceRoleForEC2Spot"), AssumeRolePolicyDocument: sdk.String(`{"Version":"2012-10-17","Statement":[]}`)})
		must(t, err)
	}
	return []string{"spot", "true", "spot-fallback", "true", "aux-spot", "true", "instance-type", "g5.xlarge,g4dn.xlarge"}
}

func fromSnapshot(t *testing.T, c *cloudy) []string {
	e := c.clients(nil).EC2
	if c.world != nil {
		return []string{"data-snapshot", c.world.GiveSnapshot(100), "data-volume-size", "120"}
	}
	v, err := e.CreateVolume(t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: sdk.String("us-west-2a"), Size: sdk.Int32(100), VolumeType: types.VolumeTypeGp3, Encrypted: sdk.Bool(true),
	})
	must(t, err)
	s, err := e.CreateSnapshot(t.Context(), &ec2.CreateSnapshotInput{VolumeId: v.VolumeId})
	must(t, err)
	return []string{"data-snapshot", *s.SnapshotId, "data-volume-size", "120"}
}

// existing creates security groups in the default VPC and returns their flags.
func existing(t *testing.T, c *cloudy) []string {
	e := c.clients(nil).EC2
	vpcs, err := e.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{{Name: sdk.String("is-default"), Values: []string{"true"}}}})
	must(t, err)
	vpc := vpcs.Vpcs[0].VpcId
	var subnets []string
	p := ec2.NewDescribeSubnetsPaginator(e, &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: sdk.String("vpc-id"), Values: []string{*vpc}}}})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		must(t, err)
		for _, s := range page.Subnets {
			if zone := *s.AvailabilityZone; strings.HasSuffix(zone, "a") || strings.HasSuffix(zone, "b") {
				subnets = append(subnets, *s.SubnetId)
			}
		}
	}
	if c.world == nil { // the default VPC of moto has no internet route
		gateway, err := e.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{})
		must(t, err)
		id := gateway.InternetGateway.InternetGatewayId
		_, err = e.AttachInternetGateway(t.Context(), &ec2.AttachInternetGatewayInput{InternetGatewayId: id, VpcId: vpc})
		must(t, err)
		tables, err := e.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []types.Filter{{Name: sdk.String("vpc-id"), Values: []string{*vpc}}}})
		must(t, err)
		_, err = e.CreateRoute(t.Context(), &ec2.CreateRouteInput{RouteTableId: tables.RouteTables[0].RouteTableId, GatewayId: id, DestinationCidrBlock: sdk.String("0.0.0.0/0")})
		must(t, err)
	}
	master := group(t, e, *vpc, "their-masters", 8443)
	agents := group(t, e, *vpc, "their-agents", 0)
	return []string{
		"vpc", *vpc, "subnet", strings.Join(subnets, ","), "master-security-group", master, "agent-security-group", agents,
	}
}

// The advice names no flag that is set already.
func TestAdviceForSubnetOfAnotherVPC(t *testing.T) {
	t.Parallel()
	c := inMemory(awstest.Options{})
	e := c.clients(nil).EC2
	other, err := e.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: sdk.String("10.9.0.0/16")})
	must(t, err)
	subnet, err := e.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{VpcId: other.Vpc.VpcId, CidrBlock: sdk.String("10.9.0.0/24"), AvailabilityZone: sdk.String("us-west-2a")})
	must(t, err)
	settings := existing(t, c)
	for public, want := range map[string]bool{"true": true, "false": false} {
		s := newStage(c, append(slices.Clone(settings), "subnet", *subnet.Subnet.SubnetId, "agent-public-ip", public)...)
		got := check(t, s)["network"]
		if got.Answer != doctor.Fail || strings.Contains(got.Fix, "--agent-public-ip=false") != want {
			t.Errorf("agent-public-ip %s: got %s: %q, want the flag in it: %t", public, got.Answer, got.Fix, want)
		}
	}
}

// Agents behind a proxy need no route to the internet. The master has a public address.
func TestSubnetsBehindProxy(t *testing.T) {
	t.Parallel()
	c := inMemory(awstest.Options{})
	e := c.clients(nil).EC2
	vpc, err := e.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: sdk.String("10.9.0.0/16")})
	must(t, err)
	var ids []string
	for _, zone := range []string{"a", "b"} {
		subnet, err := e.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{
			VpcId: vpc.Vpc.VpcId, CidrBlock: sdk.String(map[string]string{"a": "10.9.0.0/24", "b": "10.9.1.0/24"}[zone]), AvailabilityZone: sdk.String("us-west-2" + zone),
		})
		must(t, err)
		ids = append(ids, *subnet.Subnet.SubnetId)
	}
	flags := []string{"vpc", *vpc.Vpc.VpcId, "subnet", strings.Join(ids, ","), "master-subnet", ids[0], "agent-public-ip", "false"}
	for proxy, want := range map[string]bool{"": true, "http://10.9.0.9:3128": false} {
		got := check(t, newStage(c, append(slices.Clone(flags), "https-proxy", proxy)...))["network"]
		if !strings.Contains(got.Found, ids[0]+" has no route") || strings.Contains(got.Found, ids[1]+" has no route") != want {
			t.Errorf("proxy %q: got %s: %s, want the agents' subnet in it: %t", proxy, got.Answer, got.Found, want)
		}
	}
}

type groupMaker interface {
	CreateSecurityGroup(ctx context.Context, in *ec2.CreateSecurityGroupInput, o ...func(*ec2.Options)) (*ec2.CreateSecurityGroupOutput, error)
	AuthorizeSecurityGroupIngress(ctx context.Context, in *ec2.AuthorizeSecurityGroupIngressInput, o ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupIngressOutput, error)
}

func group(t *testing.T, e groupMaker, vpc, name string, port int32) string {
	t.Helper()
	ctx := t.Context()
	g, err := e.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: &name, Description: &name, VpcId: &vpc})
	must(t, err)
	permission := types.IpPermission{IpProtocol: sdk.String("-1"), IpRanges: []types.IpRange{{CidrIp: sdk.String("172.31.0.0/16")}}}
	if port != 0 {
		permission = types.IpPermission{
			IpProtocol: sdk.String("tcp"), FromPort: &port, ToPort: &port,
			IpRanges: []types.IpRange{{CidrIp: sdk.String("0.0.0.0/0")}},
		}
	}
	_, err = e.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: g.GroupId, IpPermissions: []types.IpPermission{permission}})
	must(t, err)
	return *g.GroupId
}

// prepared returns a stage with the prerequisites of the variant.
func (l variant) prepared(t *testing.T, c *cloudy) (*stage, []string) {
	t.Helper()
	flags := l.prepare(t, c)
	return newStage(c, flags...), c.world.Live()
}

func TestLifecycleOfEachLayout(t *testing.T) {
	t.Parallel()
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, before := l.prepared(t, inMemory(awstest.Options{}))
				must(t, s.Up(t.Context()))
				if s.Tried != 1 {
					t.Errorf("got %d tasks run to try the cluster, want 1", s.Tried)
				}
				s.WantNothingToDo(t)
				s.Set(l.change...)
				must(t, s.Up(t.Context()))
				s.WantNothingToDo(t)
				_, err := s.Down(t.Context(), true)
				must(t, err)
				s.wantLeft(t, before...)
			})
		})
	}
}
