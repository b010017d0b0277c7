package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// mainTable returns the main route table of a VPC.
func (s *site) mainTable(vpc, cidr string) types.RouteTable {
	rt := s.routeTable(vpc, cidr)
	rt.Associations = []types.RouteTableAssociation{{
		Main: aws.Bool(true), RouteTableAssociationId: aws.String(s.id("rtbassoc")), RouteTableId: rt.RouteTableId,
		AssociationState: &types.RouteTableAssociationState{State: types.RouteTableAssociationStateCodeAssociated},
	}}
	return rt
}

func (s *site) routeTable(vpc, cidr string) types.RouteTable {
	return types.RouteTable{
		RouteTableId: aws.String(s.id("rtb")), VpcId: &vpc, OwnerId: aws.String(Account),
		Routes: []types.Route{{DestinationCidrBlock: &cidr, GatewayId: aws.String("local"), State: types.RouteStateActive, Origin: types.RouteOriginCreateRouteTable}},
	}
}

func isMain(rt types.RouteTable) bool {
	return slices.ContainsFunc(rt.Associations, func(a types.RouteTableAssociation) bool { return aws.ToBool(a.Main) })
}

func routeLook() look[types.RouteTable] {
	return look[types.RouteTable]{
		absent: "InvalidRouteTableID.NotFound",
		tags:   func(v types.RouteTable) []types.Tag { return v.Tags },
		field: func(v types.RouteTable, name string) (out []string, ok bool) {
			switch name {
			case "route-table-id":
				return []string{*v.RouteTableId}, true
			case "vpc-id":
				return []string{*v.VpcId}, true
			case "association.main":
				return []string{truth(aws.Bool(isMain(v)))}, true
			case "association.subnet-id":
				for _, a := range v.Associations {
					out = append(out, aws.ToString(a.SubnetId))
				}
				return out, true
			}
			return nil, false
		},
	}
}

func (s *site) describeRouteTables(in *ec2.DescribeRouteTablesInput) (*ec2.DescribeRouteTablesOutput, error) {
	all, err := find(s.net.routes, in.RouteTableIds, in.Filters, routeLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeRouteTablesOutput{RouteTables: some, NextToken: next}, err
}

func (s *site) createRouteTable(in *ec2.CreateRouteTableInput) (*ec2.CreateRouteTableOutput, error) {
	if v, ok := again[types.RouteTable](s, s.net.routes, "CreateRouteTable", in.ClientToken); ok {
		return &ec2.CreateRouteTableOutput{RouteTable: v, ClientToken: in.ClientToken}, nil
	}
	vpc, ok := s.net.vpcs.ask(aws.ToString(in.VpcId))
	if !ok {
		return nil, s.noVpc(in.VpcId)
	}
	rt := s.routeTable(*vpc.VpcId, *vpc.CidrBlock)
	rt.Tags = tagged(in.TagSpecifications, types.ResourceTypeRouteTable)
	out := *s.net.routes.add(*rt.RouteTableId, rt)
	s.made("CreateRouteTable", in.ClientToken, *rt.RouteTableId)
	return &ec2.CreateRouteTableOutput{RouteTable: &out, ClientToken: in.ClientToken}, nil
}

func (s *site) noTable(id *string) error {
	return refuse(400, "InvalidRouteTableID.NotFound", "The routeTable ID '"+aws.ToString(id)+"' does not exist")
}

func (s *site) createRoute(in *ec2.CreateRouteInput) (*ec2.CreateRouteOutput, error) {
	rt, ok := s.net.routes.ask(aws.ToString(in.RouteTableId))
	if !ok {
		return nil, s.noTable(in.RouteTableId)
	}
	if in.GatewayId != nil {
		g, ok := s.net.gateways.get(*in.GatewayId)
		if !ok {
			return nil, refuse(400, "InvalidGatewayID.NotFound", "The gateway ID '"+*in.GatewayId+"' does not exist")
		}
		if attachedTo(*g) != *rt.VpcId {
			return nil, refuse(400, "InvalidParameterValue", "route table "+*rt.RouteTableId+" and network gateway "+*in.GatewayId+" belong to different networks")
		}
	}
	for _, r := range rt.Routes {
		if aws.ToString(r.DestinationCidrBlock) != aws.ToString(in.DestinationCidrBlock) {
			continue
		}
		if aws.ToString(r.GatewayId) == aws.ToString(in.GatewayId) {
			return &ec2.CreateRouteOutput{Return: aws.Bool(true)}, nil // creating the same route again is not an error
		}
		return nil, refuse(400, "RouteAlreadyExists", "The route identified by "+aws.ToString(in.DestinationCidrBlock)+" already exists.")
	}
	rt.Routes = append(slices.Clone(rt.Routes), types.Route{
		DestinationCidrBlock: in.DestinationCidrBlock, GatewayId: in.GatewayId, NatGatewayId: in.NatGatewayId,
		State: types.RouteStateActive, Origin: types.RouteOriginCreateRoute,
	})
	return &ec2.CreateRouteOutput{Return: aws.Bool(true)}, nil
}

func (s *site) replaceRoute(in *ec2.ReplaceRouteInput) (*ec2.ReplaceRouteOutput, error) {
	rt, ok := s.net.routes.ask(aws.ToString(in.RouteTableId))
	if !ok {
		return nil, s.noTable(in.RouteTableId)
	}
	routes := slices.Clone(rt.Routes)
	i := slices.IndexFunc(routes, func(r types.Route) bool {
		return aws.ToString(r.DestinationCidrBlock) == aws.ToString(in.DestinationCidrBlock)
	})
	if i < 0 {
		return nil, refuse(400, "InvalidRoute.NotFound", "no route with destination-cidr-block "+aws.ToString(in.DestinationCidrBlock)+" in route table "+*rt.RouteTableId)
	}
	if in.GatewayId != nil {
		if _, ok := s.net.gateways.get(*in.GatewayId); !ok {
			return nil, refuse(400, "InvalidGatewayID.NotFound", "The gateway ID '"+*in.GatewayId+"' does not exist")
		}
	}
	routes[i].GatewayId, routes[i].NatGatewayId, routes[i].State = in.GatewayId, in.NatGatewayId, types.RouteStateActive
	rt.Routes = routes
	return &ec2.ReplaceRouteOutput{}, nil
}

func (s *site) associateRouteTable(in *ec2.AssociateRouteTableInput) (*ec2.AssociateRouteTableOutput, error) {
	rt, ok := s.net.routes.ask(aws.ToString(in.RouteTableId))
	if !ok {
		return nil, s.noTable(in.RouteTableId)
	}
	sub, ok := s.net.subnets.ask(aws.ToString(in.SubnetId))
	if !ok {
		return nil, refuse(400, "InvalidSubnetID.NotFound", "The subnet ID '"+aws.ToString(in.SubnetId)+"' does not exist")
	}
	for _, o := range s.net.routes.all() {
		for _, a := range o.Associations {
			if aws.ToString(a.SubnetId) == *sub.SubnetId && o != rt {
				return nil, refuse(400, "Resource.AlreadyAssociated", "the specified association for route table "+*rt.RouteTableId+" conflicts with an existing association")
			}
			if aws.ToString(a.SubnetId) == *sub.SubnetId {
				return &ec2.AssociateRouteTableOutput{AssociationId: a.RouteTableAssociationId, AssociationState: a.AssociationState}, nil
			}
		}
	}
	a := types.RouteTableAssociation{
		Main: aws.Bool(false), RouteTableAssociationId: aws.String(s.id("rtbassoc")), RouteTableId: rt.RouteTableId, SubnetId: sub.SubnetId,
		AssociationState: &types.RouteTableAssociationState{State: types.RouteTableAssociationStateCodeAssociated},
	}
	rt.Associations = append(slices.Clone(rt.Associations), a)
	return &ec2.AssociateRouteTableOutput{AssociationId: a.RouteTableAssociationId, AssociationState: a.AssociationState}, nil
}

func (s *site) disassociateRouteTable(in *ec2.DisassociateRouteTableInput) (*ec2.DisassociateRouteTableOutput, error) {
	id := aws.ToString(in.AssociationId)
	for _, rt := range s.net.routes.all() {
		for i, a := range rt.Associations {
			if aws.ToString(a.RouteTableAssociationId) != id {
				continue
			}
			if aws.ToBool(a.Main) {
				return nil, invalid("cannot disassociate the main route table association %s", id)
			}
			rt.Associations = slices.Delete(slices.Clone(rt.Associations), i, i+1)
			return &ec2.DisassociateRouteTableOutput{}, nil
		}
	}
	return nil, refuse(400, "InvalidAssociationID.NotFound", "The association ID '"+id+"' does not exist")
}

func (s *site) deleteRouteTable(in *ec2.DeleteRouteTableInput) (*ec2.DeleteRouteTableOutput, error) {
	rt, ok := s.net.routes.get(aws.ToString(in.RouteTableId))
	if !ok {
		return nil, s.noTable(in.RouteTableId)
	}
	if len(rt.Associations) > 0 {
		return nil, violation("The routeTable '%s' has dependencies and cannot be deleted.", *rt.RouteTableId)
	}
	s.net.routes.remove(*rt.RouteTableId)
	return &ec2.DeleteRouteTableOutput{}, nil
}
