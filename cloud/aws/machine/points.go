package machine

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
)

// Points writes the metrics of an instance to CloudWatch, with the additional dimension InstanceId.
type Points struct {
	Instance string
	Metrics  api.Metrics
}

var _ metrics.Sink = Points{}

// Send implements metrics.Sink.
func (p Points) Send(ctx context.Context, points []metrics.Point, at time.Time) error {
	in := &cloudwatch.PutMetricDataInput{Namespace: aws.String(metrics.Namespace)}
	for _, point := range points {
		d := types.MetricDatum{
			MetricName: aws.String(point.Metric), Value: aws.Float64(point.Percent), Unit: types.StandardUnitPercent, Timestamp: aws.Time(at),
			Dimensions: []types.Dimension{{Name: aws.String("InstanceId"), Value: aws.String(p.Instance)}},
		}
		for name, value := range point.Of {
			d.Dimensions = append(d.Dimensions, types.Dimension{Name: aws.String(name), Value: aws.String(value)})
		}
		in.MetricData = append(in.MetricData, d)
	}
	_, err := p.Metrics.PutMetricData(ctx, in)
	return err
}
