package compute

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// SpotRequests returns the kind of spot requests that are open or have an instance.
func SpotRequests(c *mark.Cluster) infra.Kind[types.SpotInstanceRequest] {
	k := mark.Kind(mark.KindSpotRequest, func(ctx context.Context, filters []types.Filter) ([]types.SpotInstanceRequest, error) {
		p := ec2.NewDescribeSpotInstanceRequestsPaginator(c.Clients.EC2, &ec2.DescribeSpotInstanceRequestsInput{Filters: filters})
		return mark.Pages(ctx, p, func(o *ec2.DescribeSpotInstanceRequestsOutput) []types.SpotInstanceRequest {
			return o.SpotInstanceRequests
		})
	}, func(r types.SpotInstanceRequest) infra.Observed {
		return infra.Observed{
			Identity: aws.ToString(r.SpotInstanceRequestId), Marks: mark.EC2TagMap(r.Tags), Created: aws.ToTime(r.CreateTime),
			Deleting: r.State != types.SpotInstanceStateOpen && r.State != types.SpotInstanceStateActive,
		}
	})
	k.Delete = func(ctx context.Context, id string) error { return cancelSpotRequest(ctx, c, id) }
	return k
}

// cancelSpotRequest cancels a request and terminates its instance: one that was launched after the
// list may not carry the cluster's tag yet.
func cancelSpotRequest(ctx context.Context, c *mark.Cluster, id string) error {
	err := c.Waiter().LookUpListed(ctx, id, func() error {
		_, err := c.Clients.EC2.CancelSpotInstanceRequests(ctx, &ec2.CancelSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{id}})
		return err
	})
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	out, err := c.Clients.EC2.DescribeSpotInstanceRequests(ctx, &ec2.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{id}})
	if err != nil {
		return infra.IgnoreMissing(err)
	}
	for _, r := range out.SpotInstanceRequests {
		if machine := aws.ToString(r.InstanceId); machine != "" {
			if err := EndMachine(ctx, c, machine, false); err != nil {
				return err
			}
		}
	}
	return nil
}
