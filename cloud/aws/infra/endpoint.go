package infra

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Endpoint lets a network reach S3 without leaving Amazon, and without paying
// for it.
type Endpoint struct {
	In     *Cluster
	Name   string
	VPC    Ref
	Routes Ref

	learned
	nonced
}

var (
	_ resource.Updater = (*Endpoint)(nil)
	_ resource.Nonced  = (*Endpoint)(nil)
)

// ID is "aws/vpc-endpoint/" and its name.
func (e *Endpoint) ID() string { return resourceID(KindEndpoint, e.Name) }

// Kind is KindEndpoint.
func (*Endpoint) Kind() string { return KindEndpoint }

// Needs its network and route table.
func (e *Endpoint) Needs() []string { return needs(e.VPC, e.Routes) }

// Find looks at it.
func (e *Endpoint) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if e.Routes.Identity() == "" {
		return resource.Found{}, nil, nil
	}
	s, found, err := endpoints().named(ctx, e.In, e.Name)
	if err != nil || !found.Exists() {
		return resource.Found{}, nil, err
	}
	e.id = s.id
	drift := tagDrift(s.tags, e.In.chosen(e.Name))
	if !slices.Contains(s.live.RouteTableIds, e.Routes.Identity()) {
		drift = append(drift, resource.Drift{Path: "route-table", Want: e.Routes.Identity(), Replace: true})
	}
	return found, drift, nil
}

// CreateOnce makes it.
func (e *Endpoint) CreateOnce(ctx context.Context, nonce string) error {
	return e.In.known(ctx, e.ID(), func() error {
		out, err := e.In.Clients.EC2.CreateVpcEndpoint(ctx, &ec2.CreateVpcEndpointInput{
			VpcId: aws.String(e.VPC.Identity()), RouteTableIds: []string{e.Routes.Identity()},
			VpcEndpointType:   types.VpcEndpointTypeGateway,
			ServiceName:       aws.String("com.amazonaws." + e.In.Clients.Region + ".s3"),
			ClientToken:       aws.String(nonce),
			TagSpecifications: tagSpec(types.ResourceTypeVpcEndpoint, e.In.marks(e.Name, nonce)),
		})
		if err == nil {
			e.id = aws.ToString(out.VpcEndpoint.VpcEndpointId)
		}
		return err
	})
}

// Made lists what was made under nonce.
func (e *Endpoint) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	return endpoints().made(ctx, e.In, nonce)
}

// Update changes tags.
func (e *Endpoint) Update(ctx context.Context, drift []resource.Drift) error {
	return e.In.retag(ctx, e.id, drift)
}

// Delete removes it.
func (e *Endpoint) Delete(ctx context.Context) error { return e.In.deleteEndpoint(ctx, e.id) }

func (c *Cluster) deleteEndpoint(ctx context.Context, id string) error {
	return c.release(ctx, id, func() error {
		out, err := c.Clients.EC2.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{id}})
		if err != nil {
			return err
		}
		return c.unsuccessful("ec2:DeleteVpcEndpoints", out.Unsuccessful)
	})
}

func endpoints() kind[types.VpcEndpoint] {
	return kind[types.VpcEndpoint]{
		name: KindEndpoint,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.VpcEndpoint, error) {
			p := ec2.NewDescribeVpcEndpointsPaginator(c.Clients.EC2, &ec2.DescribeVpcEndpointsInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeVpcEndpointsOutput) []types.VpcEndpoint { return o.VpcEndpoints })
		},
		look: func(e types.VpcEndpoint) sight {
			s := sight{id: aws.ToString(e.VpcEndpointId), tags: ec2TagMap(e.Tags), born: aws.ToTime(e.CreationTimestamp)}
			for _, end := range []types.State{types.StateDeleting, types.StateDeleted, types.StateExpired, types.StateRejected, types.StateFailed} {
				// Amazon documents "Deleted" and answers "deleted".
				s.fading = s.fading || strings.EqualFold(string(e.State), string(end))
			}
			return s
		},
	}
}
