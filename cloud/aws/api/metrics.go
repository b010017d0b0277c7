package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
)

// Metrics is what det-deploy asks of Amazon about metrics.
type Metrics interface {
	PutMetricData(ctx context.Context, in *cloudwatch.PutMetricDataInput, o ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error)
}

var _ Metrics = (*cloudwatch.Client)(nil)
