package fleet

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

// Sweep implements cloud.Sweeper: it cancels spot requests that wait for a
// machine that no pool counts. Our launches leave none, since they are granted or
// refused at once; an older master's may stay open until it expires. Pools without
// spot are skipped.
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

// leftOver checks the marks again. A request with another cluster's mark is not
// ours, whatever its pair says.
func (f *Fleet) leftOver(tags []types.Tag) bool {
	cluster := tagValue(tags, TagCluster)
	return tagValue(tags, f.cfg.Tag.Key) == f.cfg.Tag.Value && tagValue(tags, TagOldPool) == f.cfg.Pool &&
		(cluster == "" || cluster == f.cfg.Cluster)
}
