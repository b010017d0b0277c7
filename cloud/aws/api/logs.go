package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Logs is the part of the CloudWatch Logs API that det-deploy uses.
type Logs interface {
	// Read-only calls.
	DescribeLogGroups(ctx context.Context, in *cloudwatchlogs.DescribeLogGroupsInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.DescribeLogGroupsOutput, error)
	ListTagsForResource(ctx context.Context, in *cloudwatchlogs.ListTagsForResourceInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.ListTagsForResourceOutput, error)
	FilterLogEvents(ctx context.Context, in *cloudwatchlogs.FilterLogEventsInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.FilterLogEventsOutput, error)

	// Modifying calls, which pass the gate.
	CreateLogGroup(ctx context.Context, in *cloudwatchlogs.CreateLogGroupInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.CreateLogGroupOutput, error)
	PutRetentionPolicy(ctx context.Context, in *cloudwatchlogs.PutRetentionPolicyInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.PutRetentionPolicyOutput, error)
	DeleteRetentionPolicy(ctx context.Context, in *cloudwatchlogs.DeleteRetentionPolicyInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.DeleteRetentionPolicyOutput, error)
	TagResource(ctx context.Context, in *cloudwatchlogs.TagResourceInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.TagResourceOutput, error)
	DeleteLogGroup(ctx context.Context, in *cloudwatchlogs.DeleteLogGroupInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.DeleteLogGroupOutput, error)
	CreateLogStream(ctx context.Context, in *cloudwatchlogs.CreateLogStreamInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.CreateLogStreamOutput, error)
	PutLogEvents(ctx context.Context, in *cloudwatchlogs.PutLogEventsInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.PutLogEventsOutput, error)
}

var _ Logs = (*cloudwatchlogs.Client)(nil)

func logsCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("logs:DescribeLogGroups"),
		edge.Reads("logs:ListTagsForResource"),
		edge.Reads("logs:FilterLogEvents"),
		edge.Writes("logs:CreateLogGroup", "logs:CreateLogGroup", "logs:TagResource"),
		edge.Writes("logs:PutRetentionPolicy"),
		edge.Writes("logs:DeleteRetentionPolicy"),
		edge.Writes("logs:TagResource"),
		edge.Writes("logs:DeleteLogGroup"),
		edge.Writes("logs:CreateLogStream"),
		edge.Writes("logs:PutLogEvents"),
	}
}
