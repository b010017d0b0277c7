package awstest

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func endpointLook() look[types.VpcEndpoint] {
	return look[types.VpcEndpoint]{
		absent: "InvalidVpcEndpointId.NotFound",
		tags:   func(v types.VpcEndpoint) []types.Tag { return v.Tags },
		field: func(v types.VpcEndpoint, name string) ([]string, bool) {
			switch name {
			case "vpc-id":
				return []string{*v.VpcId}, true
			case "vpc-endpoint-id":
				return []string{*v.VpcEndpointId}, true
			case "service-name":
				return []string{*v.ServiceName}, true
			case "vpc-endpoint-state":
				return []string{string(v.State)}, true
			}
			return nil, false
		},
	}
}

func (s *site) describeVpcEndpoints(in *ec2.DescribeVpcEndpointsInput) (*ec2.DescribeVpcEndpointsOutput, error) {
	all, err := find(s.net.endpoints, in.VpcEndpointIds, in.Filters, endpointLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeVpcEndpointsOutput{VpcEndpoints: some, NextToken: next}, err
}

func (s *site) createVpcEndpoint(in *ec2.CreateVpcEndpointInput) (*ec2.CreateVpcEndpointOutput, error) {
	if v, ok := again[types.VpcEndpoint](s, s.net.endpoints, "CreateVpcEndpoint", in.ClientToken); ok {
		return &ec2.CreateVpcEndpointOutput{VpcEndpoint: v, ClientToken: in.ClientToken}, nil
	}
	vpc, ok := s.net.vpcs.ask(aws.ToString(in.VpcId))
	if !ok {
		return nil, s.noVpc(in.VpcId)
	}
	for _, id := range in.RouteTableIds {
		if _, ok := s.net.routes.ask(id); !ok {
			return nil, s.noTable(&id)
		}
	}
	for _, o := range s.net.endpoints.all() {
		if *o.VpcId == *vpc.VpcId && *o.ServiceName == aws.ToString(in.ServiceName) && slices.ContainsFunc(in.RouteTableIds, func(id string) bool { return slices.Contains(o.RouteTableIds, id) }) {
			return nil, refuse(400, "RouteAlreadyExists", "route table already has a route with destination-prefix-list-id "+*o.ServiceName)
		}
	}
	id := s.id("vpce")
	out := *s.net.endpoints.add(id, types.VpcEndpoint{
		VpcEndpointId: &id, VpcId: vpc.VpcId, ServiceName: in.ServiceName, State: types.StateAvailable,
		VpcEndpointType: cmp.Or(in.VpcEndpointType, types.VpcEndpointTypeGateway), RouteTableIds: slices.Clone(in.RouteTableIds),
		OwnerId: aws.String(Account), Tags: tagged(in.TagSpecifications, types.ResourceTypeVpcEndpoint),
	})
	s.made("CreateVpcEndpoint", in.ClientToken, id)
	return &ec2.CreateVpcEndpointOutput{VpcEndpoint: &out, ClientToken: in.ClientToken}, nil
}

// deleteVpcEndpoints reports failures in its response and not as an error, so that a client that
// ignores the response mistakes them for success.
func (s *site) deleteVpcEndpoints(in *ec2.DeleteVpcEndpointsInput) (*ec2.DeleteVpcEndpointsOutput, error) {
	out := &ec2.DeleteVpcEndpointsOutput{}
	for _, id := range in.VpcEndpointIds {
		v, ok := s.net.endpoints.get(id)
		if !ok {
			out.Unsuccessful = append(out.Unsuccessful, types.UnsuccessfulItem{ResourceId: aws.String(id), Error: &types.UnsuccessfulItemError{
				Code: aws.String("InvalidVpcEndpointId.NotFound"), Message: aws.String("The Vpc Endpoint Id '" + id + "' does not exist"),
			}})
			continue
		}
		v.State = types.StateDeleting
		s.net.leaving[id] = s.now().Add(s.opt.Linger)
	}
	s.settle()
	return out, nil
}
