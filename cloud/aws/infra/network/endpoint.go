package network

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Endpoint is a gateway endpoint for S3. Its traffic stays in Amazon's network and is free of
// charge.
type Endpoint struct {
	In     *mark.Cluster
	Name   string
	VPC    infra.Ref
	Routes infra.Ref

	infra.Learned
}

// ID returns the resource ID "aws/vpc-endpoint/NAME".
func (e *Endpoint) ID() string { return mark.ResourceID(mark.KindEndpoint, e.Name) }

// Define implements infra.Defined.
func (e *Endpoint) Define() infra.Definition[types.VpcEndpoint] {
	d := mark.Define(e.In, Endpoints(e.In), e.Name, &e.Learned, e.VPC, e.Routes)
	d.Needed = []infra.Ref{e.Routes}
	d.Create, d.Compare = e.createEndpoint, e.compareLive
	return d
}

func (e *Endpoint) compareLive(_ context.Context, live types.VpcEndpoint) ([]resource.Drift, error) {
	if slices.Contains(live.RouteTableIds, e.Routes.Identity()) {
		return nil, nil
	}
	return []resource.Drift{infra.Fixed("route-table", "", e.Routes.Identity())}, nil
}

func (e *Endpoint) createEndpoint(ctx context.Context, nonce string) error {
	return e.In.Waiter().RetryUntilKnown(ctx, e.ID(), func() error {
		out, err := e.In.Clients.EC2.CreateVpcEndpoint(ctx, &ec2.CreateVpcEndpointInput{
			VpcId: aws.String(e.VPC.Identity()), RouteTableIds: []string{e.Routes.Identity()},
			VpcEndpointType:   types.VpcEndpointTypeGateway,
			ServiceName:       aws.String("com.amazonaws." + e.In.Clients.Region + ".s3"),
			ClientToken:       aws.String(nonce),
			TagSpecifications: mark.TagSpec(types.ResourceTypeVpcEndpoint, e.In.Marks(e.Name, nonce)),
		})
		if err == nil {
			e.Learn(aws.ToString(out.VpcEndpoint.VpcEndpointId))
		}
		return err
	})
}

func deleteEndpoint(ctx context.Context, c *mark.Cluster, id string) error {
	return c.Waiter().RetryWhileInUse(ctx, id, func() error {
		out, err := c.Clients.EC2.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{id}})
		if err != nil {
			return err
		}
		return refuseUnsuccessful("ec2:DeleteVpcEndpoints", out.Unsuccessful)
	})
}

// Endpoints returns the kind of the cluster's VPC endpoints.
func Endpoints(c *mark.Cluster) infra.Kind[types.VpcEndpoint] {
	k := mark.Kind(mark.KindEndpoint, func(ctx context.Context, filters []types.Filter) ([]types.VpcEndpoint, error) {
		p := ec2.NewDescribeVpcEndpointsPaginator(c.Clients.EC2, &ec2.DescribeVpcEndpointsInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeVpcEndpointsOutput) []types.VpcEndpoint { return o.VpcEndpoints })
	}, func(e types.VpcEndpoint) infra.Observed {
		s := infra.Observed{Identity: aws.ToString(e.VpcEndpointId), Marks: mark.EC2TagMap(e.Tags), Created: aws.ToTime(e.CreationTimestamp)}
		for _, end := range []types.State{types.StateDeleting, types.StateDeleted, types.StateExpired, types.StateRejected, types.StateFailed} {
			// Amazon documents "Deleted" and returns "deleted".
			s.Deleting = s.Deleting || strings.EqualFold(string(e.State), string(end))
		}
		return s
	})
	k.Delete = func(ctx context.Context, id string) error { return deleteEndpoint(ctx, c, id) }
	return k
}

// refuseUnsuccessful returns the first error among the items of a batch call.
func refuseUnsuccessful(op string, items []types.UnsuccessfulItem) error {
	for _, i := range items {
		if i.Error != nil {
			return api.Refusal(op, aws.ToString(i.ResourceId), aws.ToString(i.Error.Code), aws.ToString(i.Error.Message))
		}
	}
	return nil
}
