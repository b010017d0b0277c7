package network

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

const (
	everywhere = "0.0.0.0/0"
	routePath  = "route[" + everywhere + "]"
	subnetPath = "subnet["
)

// Routes is a route table with a default route to the internet, and the subnets associated with it.
type Routes struct {
	In      *mark.Cluster
	Name    string
	VPC     infra.Ref
	Gateway infra.Ref
	Subnets []infra.Ref

	infra.Learned
}

// ID returns the resource ID "aws/route-table/NAME".
func (r *Routes) ID() string { return mark.ResourceID(mark.KindRoutes, r.Name) }

// Define implements infra.Defined.
func (r *Routes) Define() infra.Definition[types.RouteTable] {
	d := mark.Define(r.In, RouteTables(r.In), r.Name, &r.Learned, append([]infra.Ref{r.VPC, r.Gateway}, r.Subnets...)...)
	d.Needed = []infra.Ref{r.VPC}
	d.Create, d.Compare, d.Change = r.createTable, r.compareLive, r.fixDrift
	return d
}

// compareLive compares the default route and the associated subnets.
func (r *Routes) compareLive(_ context.Context, live types.RouteTable) ([]resource.Drift, error) {
	var drift []resource.Drift
	if have := defaultRoute(live); have != r.Gateway.Identity() || have == "" {
		drift = append(drift, infra.Changeable(routePath, have, infra.NameOf(r.Gateway)))
	}
	users := subnetAssociations(live)
	for _, sub := range r.Subnets {
		if _, ok := users[sub.Identity()]; !ok {
			drift = append(drift, infra.Changeable(subnetPath+infra.NameOf(sub)+"]", "", "uses it"))
		}
	}
	return drift, nil
}

// createTable creates the route table with its routes and associations.
func (r *Routes) createTable(ctx context.Context, nonce string) error {
	err := r.In.Waiter().RetryUntilKnown(ctx, r.ID(), func() error {
		out, err := r.In.Clients.EC2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{
			VpcId:             aws.String(r.VPC.Identity()),
			TagSpecifications: mark.TagSpec(types.ResourceTypeRouteTable, r.In.Marks(r.Name, nonce)),
		})
		if err == nil {
			r.Learn(aws.ToString(out.RouteTable.RouteTableId))
		}
		return err
	})
	if err != nil {
		return err
	}
	calls := []func() error{func() error { return r.routeOut(ctx, "") }}
	for _, sub := range r.Subnets {
		calls = append(calls, func() error { return r.associateSubnet(ctx, sub.Identity()) })
	}
	return resource.Partial(infra.SideBySide(calls...)) // the master's instance waits for them
}

// fixDrift changes routes and associations.
func (r *Routes) fixDrift(ctx context.Context, drift []resource.Drift) error {
	for _, d := range drift {
		if d.Path == routePath {
			if err := r.routeOut(ctx, d.Have); err != nil {
				return err
			}
		}
		if !strings.HasPrefix(d.Path, subnetPath) {
			continue
		}
		// A subnet named by its resource ID in the plan has an identity now.
		at := slices.IndexFunc(r.Subnets, func(s infra.Ref) bool {
			return d.Path == subnetPath+s.Identity()+"]" || d.Path == subnetPath+s.ID()+"]"
		})
		if at < 0 {
			continue
		}
		if err := r.associateSubnet(ctx, r.Subnets[at].Identity()); err != nil {
			return err
		}
	}
	return nil
}

// routeOut sets the default route to the gateway. Have is the current target, if any: the deletion
// of a gateway leaves a blackhole route behind.
func (r *Routes) routeOut(ctx context.Context, have string) error {
	return r.In.Waiter().RetryUntilKnown(ctx, r.ID(), func() error {
		if have != "" {
			_, err := r.In.Clients.EC2.ReplaceRoute(ctx, &ec2.ReplaceRouteInput{
				RouteTableId: aws.String(r.Identity()), GatewayId: aws.String(r.Gateway.Identity()), DestinationCidrBlock: aws.String(everywhere),
			})
			return err
		}
		_, err := r.In.Clients.EC2.CreateRoute(ctx, &ec2.CreateRouteInput{
			RouteTableId: aws.String(r.Identity()), GatewayId: aws.String(r.Gateway.Identity()), DestinationCidrBlock: aws.String(everywhere),
		})
		return r.acceptConflict(ctx, err, func(t types.RouteTable) bool { return defaultRoute(t) == r.Gateway.Identity() })
	})
}

func (r *Routes) associateSubnet(ctx context.Context, subnet string) error {
	return r.In.Waiter().RetryUntilKnown(ctx, r.ID(), func() error {
		_, err := r.In.Clients.EC2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{
			RouteTableId: aws.String(r.Identity()), SubnetId: aws.String(subnet),
		})
		return r.acceptConflict(ctx, err, func(t types.RouteTable) bool { return subnetAssociations(t)[subnet] != "" })
	})
}

// acceptConflict returns nil for a Conflict error if the route table is already in the wanted
// state.
func (r *Routes) acceptConflict(ctx context.Context, err error, so func(types.RouteTable) bool) error {
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	all, findErr := RouteTables(r.In).All(ctx, r.In.Resource(r.Name))
	if findErr == nil && len(all) > 0 && so(all[0].Object) {
		return nil
	}
	return err
}

// deleteRouteTable deletes a route table. Its subnets then use the main route table of the VPC.
func deleteRouteTable(ctx context.Context, c *mark.Cluster, id string) error {
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		all, err := RouteTables(c).All(ctx, c.Owned())
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.Identity != id {
				continue
			}
			if err := disassociateSubnets(ctx, c, s.Object); err != nil {
				return err
			}
		}
		_, err = c.Clients.EC2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: aws.String(id)})
		return err
	})
}

func disassociateSubnets(ctx context.Context, c *mark.Cluster, t types.RouteTable) error {
	for _, a := range subnetAssociations(t) {
		_, err := c.Clients.EC2.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: aws.String(a)})
		if infra.IgnoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// defaultRoute returns the target of the default route: an internet gateway, a NAT gateway or any
// other target.
func defaultRoute(t types.RouteTable) string {
	for _, r := range t.Routes {
		if aws.ToString(r.DestinationCidrBlock) != everywhere {
			continue
		}
		for _, via := range []*string{r.GatewayId, r.NatGatewayId, r.TransitGatewayId, r.NetworkInterfaceId, r.VpcPeeringConnectionId, r.InstanceId} {
			if aws.ToString(via) != "" {
				return aws.ToString(via)
			}
		}
	}
	return ""
}

// subnetAssociations maps the subnets that use t to their association IDs.
func subnetAssociations(t types.RouteTable) map[string]string {
	out := make(map[string]string)
	for _, a := range t.Associations {
		if aws.ToString(a.SubnetId) != "" && !isLeaving(a) {
			out[aws.ToString(a.SubnetId)] = aws.ToString(a.RouteTableAssociationId)
		}
	}
	return out
}

func isLeaving(a types.RouteTableAssociation) bool {
	return a.AssociationState != nil &&
		(a.AssociationState.State == types.RouteTableAssociationStateCodeDisassociated ||
			a.AssociationState.State == types.RouteTableAssociationStateCodeDisassociating)
}

// RouteTables returns the kind of the cluster's route tables.
func RouteTables(c *mark.Cluster) infra.Kind[types.RouteTable] {
	k := mark.Kind(mark.KindRoutes, func(ctx context.Context, filters []types.Filter) ([]types.RouteTable, error) {
		p := ec2.NewDescribeRouteTablesPaginator(c.Clients.EC2, &ec2.DescribeRouteTablesInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeRouteTablesOutput) []types.RouteTable { return o.RouteTables })
	}, func(t types.RouteTable) infra.Observed {
		return infra.Observed{Identity: aws.ToString(t.RouteTableId), Marks: mark.EC2TagMap(t.Tags), Used: len(subnetAssociations(t)) > 0}
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteRouteTable(ctx, c, id) }
	return k
}
