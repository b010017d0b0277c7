package facts

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Overlapping returns the VPCs whose CIDR blocks overlap with a range, except those of a cluster,
// each formatted with its ID and CIDR block.
func (f Facts) Overlapping(ctx context.Context, want netip.Prefix, cluster string) ([]string, error) {
	var out []string
	p := ec2.NewDescribeVpcsPaginator(f.Clients.EC2, &ec2.DescribeVpcsInput{})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Vpcs {
			have, err := netip.ParsePrefix(aws.ToString(v.CidrBlock))
			if err == nil && have.Overlaps(want) && clusterIn(v.Tags) != cluster {
				out = append(out, fmt.Sprintf("%s has %s", aws.ToString(v.VpcId), have))
			}
		}
	}
	return out, nil
}

// RouteTables returns the route tables of a VPC.
func (f Facts) RouteTables(ctx context.Context, vpc string) ([]types.RouteTable, error) {
	var out []types.RouteTable
	p := ec2.NewDescribeRouteTablesPaginator(f.Clients.EC2, &ec2.DescribeRouteTablesInput{
		Filters: []types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}},
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, page.RouteTables...)
	}
	return out, nil
}

// DefaultRoute returns the target of a subnet's default route, from its own route table or else the
// VPC's main one.
func DefaultRoute(tables []types.RouteTable, subnet string) string {
	main, own := "", ""
	for _, t := range tables {
		gateway := ""
		for _, r := range t.Routes {
			if aws.ToString(r.DestinationCidrBlock) == "0.0.0.0/0" && r.State != types.RouteStateBlackhole {
				gateway = firstID(r.GatewayId, r.NatGatewayId, r.TransitGatewayId, r.NetworkInterfaceId, r.InstanceId)
			}
		}
		for _, a := range t.Associations {
			if aws.ToBool(a.Main) {
				main = gateway
			}
			if aws.ToString(a.SubnetId) == subnet {
				own = gateway
				if own == "" {
					return ""
				}
			}
		}
	}
	if own != "" {
		return own
	}
	return main
}

func firstID(ids ...*string) string {
	for _, id := range ids {
		if aws.ToString(id) != "" {
			return *id
		}
	}
	return ""
}

// Admits reports whether the rules of a security group allow any source to access the TCP ports of
// a range.
func Admits(ps []types.IpPermission, from, to int32) bool {
	return slices.ContainsFunc(ps, func(p types.IpPermission) bool {
		if len(p.IpRanges)+len(p.PrefixListIds)+len(p.UserIdGroupPairs) == 0 {
			return false // no source, or IPv6, which the instances do not use
		}
		all := aws.ToString(p.IpProtocol) == "-1"
		tcp := aws.ToString(p.IpProtocol) == "tcp" || aws.ToString(p.IpProtocol) == "6"
		return all || tcp && aws.ToInt32(p.FromPort) <= from && aws.ToInt32(p.ToPort) >= to
	})
}

// ClosedTo returns the ranges that a security group does not allow on a TCP port. A prefix list
// counts as allowing all ranges.
func ClosedTo(g types.SecurityGroup, port int32, ranges []netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(ranges), func(want netip.Prefix) bool {
		named := func(r types.IpRange) bool {
			have, err := netip.ParsePrefix(aws.ToString(r.CidrIp))
			return err == nil && have.Bits() <= want.Bits() && have.Contains(want.Addr())
		}
		return slices.ContainsFunc(g.IpPermissions, func(p types.IpPermission) bool {
			return Admits([]types.IpPermission{p}, port, port) && (len(p.PrefixListIds) > 0 || slices.ContainsFunc(p.IpRanges, named))
		})
	})
}
