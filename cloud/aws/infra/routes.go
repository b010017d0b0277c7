package infra

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

const (
	everywhere = "0.0.0.0/0"
	routePath  = "route[" + everywhere + "]"
	subnetPath = "subnet["
)

// Routes is a route table with a way to the internet, and the subnets that go
// by it.
type Routes struct {
	In      *Cluster
	Name    string
	VPC     Ref
	Gateway Ref
	Subnets []Ref

	learned
	nonced
}

var (
	_ resource.Updater = (*Routes)(nil)
	_ resource.Nonced  = (*Routes)(nil)
)

// ID is "aws/route-table/" and its name.
func (r *Routes) ID() string { return resourceID(KindRoutes, r.Name) }

// Kind is KindRoutes.
func (*Routes) Kind() string { return KindRoutes }

// Needs its network, gateway and subnets.
func (r *Routes) Needs() []string {
	return needs(append([]Ref{r.VPC, r.Gateway}, r.Subnets...)...)
}

// Find looks at it, at its way to the internet and at who goes by it.
func (r *Routes) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if r.VPC.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	s, found, err := routeTables().named(ctx, r.In, r.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	r.id = s.id
	drift := tagDrift(s.tags, r.In.chosen(r.Name))
	if have := wayOut(s.live); have != r.Gateway.Identity() || have == "" {
		drift = append(drift, resource.Drift{Path: routePath, Have: have, Want: name(r.Gateway)})
	}
	users := associations(s.live)
	for _, sub := range r.Subnets {
		if _, ok := users[sub.Identity()]; !ok {
			drift = append(drift, resource.Drift{Path: subnetPath + name(sub) + "]", Want: "uses it"})
		}
	}
	return found, drift, nil
}

// CreateOnce makes it with its routes and associations.
func (r *Routes) CreateOnce(ctx context.Context, nonce string) error {
	err := r.In.known(ctx, r.ID(), func() error {
		out, err := r.In.Clients.EC2.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{
			VpcId:             aws.String(r.VPC.Identity()),
			TagSpecifications: tagSpec(types.ResourceTypeRouteTable, r.In.marks(r.Name, nonce)),
		})
		if err == nil {
			r.id = aws.ToString(out.RouteTable.RouteTableId)
		}
		return err
	})
	if err != nil {
		return err
	}
	calls := []func() error{func() error { return r.lead(ctx, "") }}
	for _, sub := range r.Subnets {
		calls = append(calls, func() error { return r.associate(ctx, sub.Identity()) })
	}
	return resource.Partial(together(calls))
}

// together makes calls side by side: the master's machine waits for them.
func together(calls []func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Made lists what was made under nonce.
func (r *Routes) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return routeTables().made(ctx, r.In, nonce)
}

// Update changes tags, routes and associations.
func (r *Routes) Update(ctx context.Context, drift []resource.Drift) error {
	if err := r.In.retag(ctx, r.id, drift); err != nil {
		return err
	}
	for _, d := range drift {
		if d.Path == routePath {
			if err := r.lead(ctx, d.Have); err != nil {
				return err
			}
		}
		if !strings.HasPrefix(d.Path, subnetPath) {
			continue
		}
		// What was named by resource when the plan was made has an identity now.
		at := slices.IndexFunc(r.Subnets, func(s Ref) bool {
			return d.Path == subnetPath+s.Identity()+"]" || d.Path == subnetPath+s.ID()+"]"
		})
		if at < 0 {
			continue
		}
		if err := r.associate(ctx, r.Subnets[at].Identity()); err != nil {
			return err
		}
	}
	return nil
}

// lead makes everything that is not local go through the gateway. Have is where
// it goes now, if anywhere: a gateway that is gone leaves a hole behind.
func (r *Routes) lead(ctx context.Context, have string) error {
	return r.In.known(ctx, r.ID(), func() error {
		if have != "" {
			_, err := r.In.Clients.EC2.ReplaceRoute(ctx, &ec2.ReplaceRouteInput{
				RouteTableId: aws.String(r.id), GatewayId: aws.String(r.Gateway.Identity()), DestinationCidrBlock: aws.String(everywhere),
			})
			return err
		}
		_, err := r.In.Clients.EC2.CreateRoute(ctx, &ec2.CreateRouteInput{
			RouteTableId: aws.String(r.id), GatewayId: aws.String(r.Gateway.Identity()), DestinationCidrBlock: aws.String(everywhere),
		})
		return r.accept(ctx, err, func(t types.RouteTable) bool { return wayOut(t) == r.Gateway.Identity() })
	})
}

func (r *Routes) associate(ctx context.Context, subnet string) error {
	return r.In.known(ctx, r.ID(), func() error {
		_, err := r.In.Clients.EC2.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{
			RouteTableId: aws.String(r.id), SubnetId: aws.String(subnet),
		})
		return r.accept(ctx, err, func(t types.RouteTable) bool { return associations(t)[subnet] != "" })
	})
}

// accept takes "it is so already" for success when it is so.
func (r *Routes) accept(ctx context.Context, err error, so func(types.RouteTable) bool) error {
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	s, found, findErr := routeTables().named(ctx, r.In, r.Name)
	if findErr == nil && found.Exists() && so(s.live) {
		return nil
	}
	return err
}

// Delete removes it, and leaves its subnets to the network's own table.
func (r *Routes) Delete(ctx context.Context) error { return r.In.deleteRoutes(ctx, r.id) }

func (c *Cluster) deleteRoutes(ctx context.Context, id string) error {
	return c.release(ctx, id, func() error {
		all, err := routeTables().all(ctx, c, nil)
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.id != id {
				continue
			}
			if err := c.disassociateRoutes(ctx, s.live); err != nil {
				return err
			}
		}
		_, err = c.Clients.EC2.DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: aws.String(id)})
		return err
	})
}

func (c *Cluster) disassociateRoutes(ctx context.Context, t types.RouteTable) error {
	for _, a := range associations(t) {
		_, err := c.Clients.EC2.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: aws.String(a)})
		if gone(err) != nil {
			return err
		}
	}
	return nil
}

// wayOut is where what is not local goes: an internet gateway, a NAT gateway, or
// whatever else stands there.
func wayOut(t types.RouteTable) string {
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

// associations maps subnets to the associations by which they go by t.
func associations(t types.RouteTable) map[string]string {
	out := make(map[string]string)
	for _, a := range t.Associations {
		if aws.ToString(a.SubnetId) != "" && !leaving(a) {
			out[aws.ToString(a.SubnetId)] = aws.ToString(a.RouteTableAssociationId)
		}
	}
	return out
}

func leaving(a types.RouteTableAssociation) bool {
	return a.AssociationState != nil &&
		(a.AssociationState.State == types.RouteTableAssociationStateCodeDisassociated ||
			a.AssociationState.State == types.RouteTableAssociationStateCodeDisassociating)
}

func routeTables() kind[types.RouteTable] {
	return kind[types.RouteTable]{
		name: KindRoutes,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.RouteTable, error) {
			p := ec2.NewDescribeRouteTablesPaginator(c.Clients.EC2, &ec2.DescribeRouteTablesInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeRouteTablesOutput) []types.RouteTable { return o.RouteTables })
		},
		look: func(t types.RouteTable) sight {
			return sight{id: aws.ToString(t.RouteTableId), tags: ec2TagMap(t.Tags), used: len(associations(t)) > 0}
		},
	}
}
