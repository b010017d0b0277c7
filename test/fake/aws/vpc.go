package awstest

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func vpcLook() look[types.Vpc] {
	return look[types.Vpc]{
		absent: "InvalidVpcID.NotFound",
		tags:   func(v types.Vpc) []types.Tag { return v.Tags },
		field: func(v types.Vpc, name string) ([]string, bool) {
			switch name {
			case "vpc-id":
				return []string{*v.VpcId}, true
			case "cidr", "cidr-block-association.cidr-block":
				return []string{*v.CidrBlock}, true
			case "is-default", "isDefault":
				return []string{truth(v.IsDefault)}, true
			case "state":
				return []string{string(v.State)}, true
			}
			return nil, false
		},
	}
}

func truth(b *bool) string {
	if aws.ToBool(b) {
		return "true"
	}
	return "false"
}

func (s *site) describeVpcs(in *ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) {
	all, err := find(s.net.vpcs, in.VpcIds, in.Filters, vpcLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeVpcsOutput{Vpcs: some, NextToken: next}, err
}

// createVpc has no idempotency token: two calls create two VPCs.
func (s *site) createVpc(in *ec2.CreateVpcInput) (*ec2.CreateVpcOutput, error) {
	cidr := aws.ToString(in.CidrBlock)
	if !block(cidr) {
		return nil, refuse(400, "InvalidVpc.Range", "The CIDR '"+cidr+"' is invalid.")
	}
	if len(s.net.vpcs.all()) >= int(s.quotas["L-F678F1CE"]) {
		return nil, refuse(400, "VpcLimitExceeded", "The maximum number of VPCs has been reached.")
	}
	id := s.id("vpc")
	v := s.net.vpcs.add(id, types.Vpc{
		VpcId: &id, CidrBlock: &cidr, IsDefault: aws.Bool(false), State: types.VpcStateAvailable, OwnerId: aws.String(Account),
		InstanceTenancy: cmp.Or(in.InstanceTenancy, types.TenancyDefault), Tags: tagged(in.TagSpecifications, types.ResourceTypeVpc),
		CidrBlockAssociationSet: []types.VpcCidrBlockAssociation{{CidrBlock: &cidr, CidrBlockState: &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeAssociated}}},
	})
	rt := s.mainTable(id, cidr)
	s.net.routes.add(*rt.RouteTableId, rt)
	g := s.defaultGroup(id)
	s.net.groups.add(*g.GroupId, g)
	out := *v
	return &ec2.CreateVpcOutput{Vpc: &out}, nil
}

func (s *site) noVpc(id *string) error {
	return refuse(400, "InvalidVpcID.NotFound", "The vpc ID '"+aws.ToString(id)+"' does not exist")
}

// deleteVpc also deletes the objects created by createVpc, and no others.
func (s *site) deleteVpc(in *ec2.DeleteVpcInput) (*ec2.DeleteVpcOutput, error) {
	id := aws.ToString(in.VpcId)
	if _, ok := s.net.vpcs.get(id); !ok {
		return nil, s.noVpc(in.VpcId)
	}
	if s.vpcInUse(id) {
		return nil, violation("The vpc '%s' has dependencies and cannot be deleted.", id)
	}
	for _, rt := range s.net.routes.all() {
		if aws.ToString(rt.VpcId) == id {
			s.net.routes.remove(*rt.RouteTableId)
		}
	}
	for _, g := range s.net.groups.all() {
		if aws.ToString(g.VpcId) == id {
			s.net.groups.remove(*g.GroupId)
		}
	}
	s.net.vpcs.remove(id)
	return &ec2.DeleteVpcOutput{}, nil
}

func (s *site) vpcInUse(id string) bool {
	for _, v := range s.net.subnets.all() {
		if aws.ToString(v.VpcId) == id {
			return true
		}
	}
	for _, v := range s.net.gateways.all() {
		if attachedTo(*v) == id {
			return true
		}
	}
	for _, v := range s.net.routes.all() {
		if aws.ToString(v.VpcId) == id && !isMain(*v) {
			return true
		}
	}
	for _, v := range s.net.endpoints.all() {
		if aws.ToString(v.VpcId) == id {
			return true
		}
	}
	for _, v := range s.net.groups.all() {
		if aws.ToString(v.VpcId) == id && aws.ToString(v.GroupName) != "default" {
			return true
		}
	}
	return false
}
