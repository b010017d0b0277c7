package infra

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// spotRequests are those that still may bring a machine, or have one.
func spotRequests() kind[types.SpotInstanceRequest] {
	return kind[types.SpotInstanceRequest]{
		name: KindSpotRequest,
		list: func(ctx context.Context, c *Cluster, filters []types.Filter) ([]types.SpotInstanceRequest, error) {
			p := ec2.NewDescribeSpotInstanceRequestsPaginator(c.Clients.EC2, &ec2.DescribeSpotInstanceRequestsInput{Filters: filters})
			return pages(ctx, p, func(o *ec2.DescribeSpotInstanceRequestsOutput) []types.SpotInstanceRequest {
				return o.SpotInstanceRequests
			})
		},
		look: func(r types.SpotInstanceRequest) sight {
			return sight{
				id: aws.ToString(r.SpotInstanceRequestId), tags: ec2TagMap(r.Tags), born: aws.ToTime(r.CreateTime),
				fading: r.State != types.SpotInstanceStateOpen && r.State != types.SpotInstanceStateActive,
			}
		},
	}
}

// cancelSpot cancels a request, and ends the machine that it brought: one that
// came between the list and this call may not carry our tag yet.
func (c *Cluster) cancelSpot(ctx context.Context, id string) error {
	err := c.sure(ctx, id, func() error {
		_, err := c.Clients.EC2.CancelSpotInstanceRequests(ctx, &ec2.CancelSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{id}})
		return err
	})
	if err != nil {
		return gone(err)
	}
	out, err := c.Clients.EC2.DescribeSpotInstanceRequests(ctx, &ec2.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{id}})
	if err != nil {
		return gone(err)
	}
	for _, r := range out.SpotInstanceRequests {
		if machine := aws.ToString(r.InstanceId); machine != "" {
			if err := c.endMachine(ctx, machine, false); err != nil {
				return err
			}
		}
	}
	return nil
}
