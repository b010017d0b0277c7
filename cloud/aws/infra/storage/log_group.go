package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// LogGroup is the CloudWatch log group of a cluster's machines. Its name is derived from the
// cluster's. A group with another name belongs to the user and is not a LogGroup.
type LogGroup struct {
	In *mark.Cluster
	// Days is the retention in days, one of the values that CloudWatch supports (1, 3, 5, 7, 14, 30
	// …). 0 means that logs never expire.
	Days int32
	// Retain keeps the group when the cluster is deleted.
	Retain bool

	infra.Learned
}

var _ resource.Updater = (*LogGroup)(nil)

// LogGroupName returns the name of a cluster's log group.
func LogGroupName(cluster string) string { return mark.PathStart + cluster }

// ID returns the resource ID "aws/log-group/main".
func (*LogGroup) ID() string { return mark.ResourceID(mark.KindLogGroup, "main") }

// Kind returns KindLogGroup.
func (*LogGroup) Kind() string { return mark.KindLogGroup }

// Needs returns nil.
func (*LogGroup) Needs() []string { return nil }

// Describe returns the name and the retention for the plan.
func (l *LogGroup) Describe() []string {
	retention := "unlimited"
	if l.Days > 0 {
		retention = fmt.Sprintf("%d days", l.Days)
	}
	return []string{LogGroupName(l.In.ID) + ", retention: " + retention}
}

func (l *LogGroup) wantedTags() map[string]string {
	out := l.In.Marks("logs", "")
	out[mark.RetainTag] = mark.RetainNo
	if l.Retain {
		out[mark.RetainTag] = mark.RetainYes
	}
	return out
}

// Find finds the log group and compares its settings.
func (l *LogGroup) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, tags, err := describeLogGroup(ctx, l.In)
	if err != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	l.Learn(LogGroupName(l.In.ID))
	drift := infra.MarkDrift(tags, l.wantedTags())
	if have := aws.ToInt32(live.RetentionInDays); have != l.Days {
		drift = append(drift, resource.Drift{Path: "retention", Have: retentionText(have), Want: retentionText(l.Days)})
	}
	return foundLogGroup(l.In, tags), drift, nil
}

// Create creates the log group.
func (l *LogGroup) Create(ctx context.Context) error {
	l.Learn(LogGroupName(l.In.ID))
	_, err := l.In.Clients.Logs.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{
		LogGroupName: aws.String(l.Identity()), Tags: l.wantedTags(),
	})
	if cloud.KindOf(err) == cloud.Conflict {
		return l.In.Waiter().Adopt(ctx, l)
	}
	if err != nil || l.Days == 0 {
		return err
	}
	return l.keepFor(ctx)
}

// Update corrects tags and retention.
func (l *LogGroup) Update(ctx context.Context, drift []resource.Drift) error {
	if tags := infra.WantedMarks(drift); len(tags) > 0 {
		live, _, err := describeLogGroup(ctx, l.In)
		if err != nil {
			return err
		}
		_, err = l.In.Clients.Logs.TagResource(ctx, &cloudwatchlogs.TagResourceInput{ResourceArn: aws.String(logARN(live)), Tags: tags})
		if err != nil {
			return err
		}
	}
	for _, d := range drift {
		if d.Path == "retention" {
			return l.keepFor(ctx)
		}
	}
	return nil
}

func (l *LogGroup) keepFor(ctx context.Context) error {
	return l.In.Waiter().RetryUntilKnown(ctx, l.ID(), func() error {
		if l.Days == 0 {
			_, err := l.In.Clients.Logs.DeleteRetentionPolicy(ctx, &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: aws.String(l.Identity())})
			return err
		}
		_, err := l.In.Clients.Logs.PutRetentionPolicy(ctx, &cloudwatchlogs.PutRetentionPolicyInput{
			LogGroupName: aws.String(l.Identity()), RetentionInDays: aws.Int32(l.Days),
		})
		return err
	})
}

// Delete deletes the log group with its logs.
func (l *LogGroup) Delete(ctx context.Context) error { return DeleteLogGroup(ctx, l.In, l.Identity()) }

// DeleteLogGroup deletes a log group with its logs.
func DeleteLogGroup(ctx context.Context, c *mark.Cluster, name string) error {
	_, err := c.Clients.Logs.DeleteLogGroup(ctx, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: aws.String(name)})
	return infra.IgnoreMissing(err)
}

// describeLogGroup returns the cluster's log group and its tags.
func describeLogGroup(ctx context.Context, c *mark.Cluster) (types.LogGroup, map[string]string, error) {
	name := LogGroupName(c.ID)
	p := cloudwatchlogs.NewDescribeLogGroupsPaginator(c.Clients.Logs, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String(name)})
	all, err := mark.Pages(ctx, p, func(o *cloudwatchlogs.DescribeLogGroupsOutput) []types.LogGroup { return o.LogGroups })
	if err != nil {
		return types.LogGroup{}, nil, err
	}
	for _, g := range all {
		if aws.ToString(g.LogGroupName) != name {
			continue
		}
		out, err := c.Clients.Logs.ListTagsForResource(ctx, &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: aws.String(logARN(g))})
		if err != nil {
			return g, nil, err
		}
		if whose := out.Tags[mark.ClusterTag]; whose != c.ID && len(out.Tags) > 0 {
			return g, nil, infra.Foreign("logs:DescribeLogGroups", "log group "+name, "it does not carry the tag "+mark.ClusterTag)
		}
		return g, out.Tags, nil
	}
	return types.LogGroup{}, nil, infra.Missing("logs:DescribeLogGroups", name)
}

func foundLogGroup(c *mark.Cluster, tags map[string]string) resource.Found {
	f := c.Found(mark.KindLogGroup, infra.Observed{Identity: LogGroupName(c.ID), Marks: tags})
	f.Name = f.ID
	return f
}

// ListLogGroups returns the log group of a cluster.
func ListLogGroups(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	_, tags, err := describeLogGroup(ctx, c)
	if err != nil {
		return nil, infra.IgnoreMissing(err)
	}
	return []resource.Found{foundLogGroup(c, tags)}, nil
}

// logARN returns a log group's ARN for calls about tags, without the suffix ":*" for its streams.
func logARN(g types.LogGroup) string { return strings.TrimSuffix(aws.ToString(g.Arn), ":*") }

func retentionText(n int32) string {
	if n == 0 {
		return "forever"
	}
	return strconv.Itoa(int(n)) + " days"
}
