package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func subnetLook() look[types.Subnet] {
	return look[types.Subnet]{
		absent: "InvalidSubnetID.NotFound",
		tags:   func(v types.Subnet) []types.Tag { return v.Tags },
		field: func(v types.Subnet, name string) ([]string, bool) {
			switch name {
			case "subnet-id":
				return []string{*v.SubnetId}, true
			case "vpc-id":
				return []string{*v.VpcId}, true
			case "availability-zone", "availabilityZone":
				return []string{*v.AvailabilityZone}, true
			case "cidr-block", "cidrBlock", "cidr":
				return []string{*v.CidrBlock}, true
			case "default-for-az", "defaultForAz":
				return []string{truth(v.DefaultForAz)}, true
			case "state":
				return []string{string(v.State)}, true
			}
			return nil, false
		},
	}
}

func (s *site) describeSubnets(in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
	all, err := find(s.net.subnets, in.SubnetIds, in.Filters, subnetLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeSubnetsOutput{Subnets: some, NextToken: next}, err
}

func (s *site) createSubnet(in *ec2.CreateSubnetInput) (*ec2.CreateSubnetOutput, error) {
	vpc, ok := s.net.vpcs.ask(aws.ToString(in.VpcId))
	if !ok {
		return nil, s.noVpc(in.VpcId)
	}
	cidr, zone := aws.ToString(in.CidrBlock), aws.ToString(in.AvailabilityZone)
	if zone == "" {
		zone = s.zones()[0]
	}
	switch {
	case !slices.Contains(s.zones(), zone):
		return nil, invalid("Value (%s) for parameter availabilityZone is invalid.", zone)
	case !block(cidr) || !within(cidr, *vpc.CidrBlock):
		return nil, refuse(400, "InvalidSubnet.Range", "The CIDR '"+cidr+"' is invalid.")
	}
	for _, o := range s.net.subnets.all() {
		if *o.VpcId == *vpc.VpcId && overlap(*o.CidrBlock, cidr) {
			return nil, refuse(400, "InvalidSubnet.Conflict", "The CIDR '"+cidr+"' conflicts with another subnet")
		}
	}
	id := s.id("subnet")
	v := s.net.subnets.add(id, types.Subnet{
		SubnetId: &id, VpcId: vpc.VpcId, CidrBlock: &cidr, AvailabilityZone: &zone, AvailabilityZoneId: aws.String(zoneID(zone)),
		DefaultForAz: aws.Bool(false), MapPublicIpOnLaunch: aws.Bool(false), State: types.SubnetStateAvailable,
		AvailableIpAddressCount: aws.Int32(251), OwnerId: aws.String(Account), Tags: tagged(in.TagSpecifications, types.ResourceTypeSubnet),
	})
	out := *v
	return &ec2.CreateSubnetOutput{Subnet: &out}, nil
}

func (s *site) deleteSubnet(in *ec2.DeleteSubnetInput) (*ec2.DeleteSubnetOutput, error) {
	id := aws.ToString(in.SubnetId)
	if _, ok := s.net.subnets.get(id); !ok {
		return nil, refuse(400, "InvalidSubnetID.NotFound", "The subnet ID '"+id+"' does not exist")
	}
	for _, n := range s.net.nics.all() {
		if aws.ToString(n.SubnetId) == id {
			return nil, violation("The subnet '%s' has dependencies and cannot be deleted.", id)
		}
	}
	for _, rt := range s.net.routes.all() {
		rt.Associations = slices.DeleteFunc(slices.Clone(rt.Associations), func(a types.RouteTableAssociation) bool { return aws.ToString(a.SubnetId) == id })
	}
	s.net.subnets.remove(id)
	return &ec2.DeleteSubnetOutput{}, nil
}
