package fleet

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

// Sweep implements cloud.Sweeper: it cancels open spot requests of the pool, whose instances no
// pool would count. The fleet's own requests are fulfilled or rejected immediately, but those of an
// older master may remain open until they expire. It does nothing for pools without spot.
func (f *Fleet) Sweep(ctx context.Context) ([]string, error) {
	if !f.cfg.Spot {
		return nil, nil
	}
	pages := ec2.NewDescribeSpotInstanceRequestsPaginator(f.ec2, &ec2.DescribeSpotInstanceRequestsInput{Filters: []types.Filter{
		{Name: aws.String("tag:" + f.cfg.Tag.Key), Values: []string{f.cfg.Tag.Value}},
		{Name: aws.String("tag:" + TagOldPool), Values: []string{f.cfg.Pool}},
		{Name: aws.String("state"), Values: []string{string(types.SpotInstanceStateOpen)}},
	}})
	var open []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.SpotInstanceRequests {
			if r.State == types.SpotInstanceStateOpen && f.leftOver(r.Tags) {
				open = append(open, aws.ToString(r.SpotInstanceRequestId))
			}
		}
	}
	var gone []string
	for part := range slices.Chunk(open, chunk) {
		_, err := f.ec2.CancelSpotInstanceRequests(ctx, &ec2.CancelSpotInstanceRequestsInput{SpotInstanceRequestIds: part})
		if err != nil && cloud.KindOf(err) != cloud.NotFound {
			return gone, err
		}
		gone = append(gone, part...)
	}
	return gone, nil
}

// leftOver checks the tags again. A request with another cluster's tag is not canceled, even if it
// has the configured tag.
func (f *Fleet) leftOver(tags []types.Tag) bool {
	cluster := tagValue(tags, TagCluster)
	return tagValue(tags, f.cfg.Tag.Key) == f.cfg.Tag.Value && tagValue(tags, TagOldPool) == f.cfg.Pool &&
		(cluster == "" || cluster == f.cfg.Cluster)
}
