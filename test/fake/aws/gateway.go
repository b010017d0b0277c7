package awstest

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// attachedTo returns the VPC of a gateway, or "" if it is detached.
func attachedTo(v types.InternetGateway) string {
	if len(v.Attachments) == 0 {
		return ""
	}
	return aws.ToString(v.Attachments[0].VpcId)
}

func gatewayLook() look[types.InternetGateway] {
	return look[types.InternetGateway]{
		absent: "InvalidInternetGatewayID.NotFound",
		tags:   func(v types.InternetGateway) []types.Tag { return v.Tags },
		field: func(v types.InternetGateway, name string) ([]string, bool) {
			switch name {
			case "internet-gateway-id":
				return []string{*v.InternetGatewayId}, true
			case "attachment.vpc-id":
				return []string{attachedTo(v)}, true
			}
			return nil, false
		},
	}
}

func (s *site) describeInternetGateways(in *ec2.DescribeInternetGatewaysInput) (*ec2.DescribeInternetGatewaysOutput, error) {
	all, err := find(s.net.gateways, in.InternetGatewayIds, in.Filters, gatewayLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeInternetGatewaysOutput{InternetGateways: some, NextToken: next}, err
}

func (s *site) createInternetGateway(in *ec2.CreateInternetGatewayInput) (*ec2.CreateInternetGatewayOutput, error) {
	if len(s.net.gateways.all()) >= int(s.quotas["L-A4707A72"]) {
		return nil, refuse(400, "InternetGatewayLimitExceeded", "The maximum number of internet gateways has been reached.")
	}
	id := s.id("igw")
	v := s.net.gateways.add(id, types.InternetGateway{InternetGatewayId: &id, OwnerId: aws.String(Account), Tags: tagged(in.TagSpecifications, types.ResourceTypeInternetGateway)})
	out := *v
	return &ec2.CreateInternetGatewayOutput{InternetGateway: &out}, nil
}

func (s *site) noGateway(id *string) error {
	return refuse(400, "InvalidInternetGatewayID.NotFound", "The internetGateway ID '"+aws.ToString(id)+"' does not exist")
}

func (s *site) attachInternetGateway(in *ec2.AttachInternetGatewayInput) (*ec2.AttachInternetGatewayOutput, error) {
	g, ok := s.net.gateways.ask(aws.ToString(in.InternetGatewayId))
	if !ok {
		return nil, s.noGateway(in.InternetGatewayId)
	}
	if _, ok := s.net.vpcs.ask(aws.ToString(in.VpcId)); !ok {
		return nil, s.noVpc(in.VpcId)
	}
	if at := attachedTo(*g); at != "" {
		return nil, refuse(400, "Resource.AlreadyAssociated", "resource "+*g.InternetGatewayId+" is already attached to network "+at)
	}
	for _, o := range s.net.gateways.all() {
		if attachedTo(*o) == *in.VpcId {
			return nil, invalid("Network %s already has an internet gateway attached", *in.VpcId)
		}
	}
	g.Attachments = []types.InternetGatewayAttachment{{VpcId: in.VpcId, State: types.AttachmentStatus("available")}}
	return &ec2.AttachInternetGatewayOutput{}, nil
}

func (s *site) detachInternetGateway(in *ec2.DetachInternetGatewayInput) (*ec2.DetachInternetGatewayOutput, error) {
	g, ok := s.net.gateways.get(aws.ToString(in.InternetGatewayId))
	if !ok {
		return nil, s.noGateway(in.InternetGatewayId)
	}
	vpc := aws.ToString(in.VpcId)
	if attachedTo(*g) != vpc {
		return nil, refuse(400, "Gateway.NotAttached", "resource "+*g.InternetGatewayId+" is not attached to network "+vpc)
	}
	for _, n := range s.net.nics.all() {
		if aws.ToString(n.VpcId) == vpc && n.Association != nil {
			return nil, violation("Network %s has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.", vpc)
		}
	}
	g.Attachments = nil
	return &ec2.DetachInternetGatewayOutput{}, nil
}

func (s *site) deleteInternetGateway(in *ec2.DeleteInternetGatewayInput) (*ec2.DeleteInternetGatewayOutput, error) {
	g, ok := s.net.gateways.get(aws.ToString(in.InternetGatewayId))
	if !ok {
		return nil, s.noGateway(in.InternetGatewayId)
	}
	if attachedTo(*g) != "" {
		return nil, violation("The internetGateway '%s' has dependencies and cannot be deleted.", *g.InternetGatewayId)
	}
	s.net.gateways.remove(*g.InternetGatewayId)
	return &ec2.DeleteInternetGatewayOutput{}, nil
}
