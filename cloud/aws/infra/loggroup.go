package infra

import (
	"context"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// LogGroup is where machines send their logs. Its name follows from the
// cluster's; a group with another name is the user's, and not one of these.
type LogGroup struct {
	In *Cluster
	// Days is how long lines are kept, one of CloudWatch's numbers (1, 3, 5, 7,
	// 14, 30 …); 0 is forever.
	Days int32
	// Retain keeps it when the cluster goes.
	Retain bool

	learned
}

var _ resource.Updater = (*LogGroup)(nil)

// LogGroupName is the log group of a cluster.
func LogGroupName(cluster string) string { return clusterPathStart + cluster }

// ID is "aws/log-group/main".
func (*LogGroup) ID() string { return resourceID(KindLogGroup, "main") }

// Kind is KindLogGroup.
func (*LogGroup) Kind() string { return KindLogGroup }

// Needs nothing.
func (*LogGroup) Needs() []string { return nil }

func (l *LogGroup) tags() map[string]string {
	out := l.In.marks("logs", "")
	out[RetainTag] = retainNo
	if l.Retain {
		out[RetainTag] = retainYes
	}
	return out
}

// Find looks at it.
func (l *LogGroup) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, tags, err := l.In.logGroup(ctx)
	if err != nil {
		return resource.Found{}, nil, gone(err)
	}
	l.id = LogGroupName(l.In.ID)
	drift := tagDrift(tags, l.tags())
	if have := aws.ToInt32(live.RetentionInDays); have != l.Days {
		drift = append(drift, resource.Drift{Path: "retention", Have: days(have), Want: days(l.Days)})
	}
	return l.In.foundLogGroup(tags), drift, nil
}

// Create makes it.
func (l *LogGroup) Create(ctx context.Context) error {
	l.id = LogGroupName(l.In.ID)
	_, err := l.In.Clients.Logs.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{
		LogGroupName: aws.String(l.id), Tags: l.tags(),
	})
	if cloud.KindOf(err) == cloud.Conflict {
		return l.In.adopt(ctx, l)
	}
	if err != nil || l.Days == 0 {
		return err
	}
	return l.keepFor(ctx)
}

// Update changes tags and how long lines are kept.
func (l *LogGroup) Update(ctx context.Context, drift []resource.Drift) error {
	if tags := tagged(drift); len(tags) > 0 {
		live, _, err := l.In.logGroup(ctx)
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
	return l.In.known(ctx, l.ID(), func() error {
		if l.Days == 0 {
			_, err := l.In.Clients.Logs.DeleteRetentionPolicy(ctx, &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: aws.String(l.id)})
			return err
		}
		_, err := l.In.Clients.Logs.PutRetentionPolicy(ctx, &cloudwatchlogs.PutRetentionPolicyInput{
			LogGroupName: aws.String(l.id), RetentionInDays: aws.Int32(l.Days),
		})
		return err
	})
}

// Delete removes it with what is in it.
func (l *LogGroup) Delete(ctx context.Context) error { return l.In.deleteLogGroup(ctx, l.id) }

func (c *Cluster) deleteLogGroup(ctx context.Context, name string) error {
	_, err := c.Clients.Logs.DeleteLogGroup(ctx, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: aws.String(name)})
	return gone(err)
}

// logGroup looks at the cluster's log group and its tags.
func (c *Cluster) logGroup(ctx context.Context) (types.LogGroup, map[string]string, error) {
	name := LogGroupName(c.ID)
	p := cloudwatchlogs.NewDescribeLogGroupsPaginator(c.Clients.Logs, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String(name)})
	all, err := pages(ctx, p, func(o *cloudwatchlogs.DescribeLogGroupsOutput) []types.LogGroup { return o.LogGroups })
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
		if whose := out.Tags[ClusterTag]; whose != c.ID && len(out.Tags) > 0 {
			return g, nil, foreign("logs:DescribeLogGroups", "log group "+name, "it does not carry the tag "+ClusterTag)
		}
		return g, out.Tags, nil
	}
	return types.LogGroup{}, nil, none("logs:DescribeLogGroups", name)
}

func (c *Cluster) foundLogGroup(tags map[string]string) resource.Found {
	f := c.found(KindLogGroup, sight{id: LogGroupName(c.ID), tags: tags})
	f.Name = f.ID
	return f
}

func logGroups(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	_, tags, err := c.logGroup(ctx)
	if err != nil {
		return nil, gone(err)
	}
	return []resource.Found{c.foundLogGroup(tags)}, nil
}

// logARN is the form of a log group's ARN that tags are asked by: without the
// star that stands for its streams.
func logARN(g types.LogGroup) string { return strings.TrimSuffix(aws.ToString(g.Arn), ":*") }

func days(n int32) string {
	if n == 0 {
		return "forever"
	}
	return strconv.Itoa(int(n)) + " days"
}
