package awstest

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

// logState holds the log groups and metrics of a region.
type logState struct {
	groups  *table[logGroup]
	metrics map[string][]cwtypes.MetricDatum // by namespace
}

type logGroup struct {
	name, arn string
	retention *int32
	tags      map[string]string
	streams   []string
	events    []types.FilteredLogEvent
}

func newLogs(w *World) logState {
	return logState{groups: &table[logGroup]{w: w}, metrics: make(map[string][]cwtypes.MetricDatum)}
}

func (s *site) logGroupOf(name *string) (*logGroup, error) {
	g, ok := s.logs.groups.get(aws.ToString(name))
	if !ok {
		return nil, refuse(400, "ResourceNotFoundException", "The specified log group does not exist.")
	}
	return g, nil
}

func (s *site) createLogGroup(in *cloudwatchlogs.CreateLogGroupInput) (*cloudwatchlogs.CreateLogGroupOutput, error) {
	name := aws.ToString(in.LogGroupName)
	if _, ok := s.logs.groups.get(name); ok {
		return nil, refuse(400, "ResourceAlreadyExistsException", "The specified log group already exists")
	}
	s.logs.groups.add(name, logGroup{name: name, arn: s.arn("logs", "log-group:"+name), tags: maps.Clone(in.Tags)})
	return &cloudwatchlogs.CreateLogGroupOutput{}, nil
}

func (s *site) describeLogGroups(in *cloudwatchlogs.DescribeLogGroupsInput) (*cloudwatchlogs.DescribeLogGroupsOutput, error) {
	var all []types.LogGroup
	for _, g := range s.logs.groups.listed() {
		if strings.HasPrefix(g.name, aws.ToString(in.LogGroupNamePrefix)) {
			all = append(all, types.LogGroup{LogGroupName: aws.String(g.name), LogGroupArn: aws.String(g.arn), Arn: aws.String(g.arn + ":*"), RetentionInDays: g.retention})
		}
	}
	some, next, err := page(s, all, in.NextToken, in.Limit)
	return &cloudwatchlogs.DescribeLogGroupsOutput{LogGroups: some, NextToken: next}, err
}

func (s *site) deleteLogGroup(in *cloudwatchlogs.DeleteLogGroupInput) (*cloudwatchlogs.DeleteLogGroupOutput, error) {
	g, err := s.logGroupOf(in.LogGroupName)
	if err != nil {
		return nil, err
	}
	s.logs.groups.remove(g.name)
	return &cloudwatchlogs.DeleteLogGroupOutput{}, nil
}

// retentions returns the retention periods that CloudWatch accepts, in days.
func retentions() []int32 {
	return []int32{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}
}

func (s *site) putRetention(in *cloudwatchlogs.PutRetentionPolicyInput) (*cloudwatchlogs.PutRetentionPolicyOutput, error) {
	g, err := s.logGroupOf(in.LogGroupName)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(retentions(), aws.ToInt32(in.RetentionInDays)) {
		return nil, refuse(400, "InvalidParameterException", "1 validation error detected: Value at 'retentionInDays' failed to satisfy constraint")
	}
	g.retention = in.RetentionInDays
	return &cloudwatchlogs.PutRetentionPolicyOutput{}, nil
}

func (s *site) deleteRetention(in *cloudwatchlogs.DeleteRetentionPolicyInput) (*cloudwatchlogs.DeleteRetentionPolicyOutput, error) {
	g, err := s.logGroupOf(in.LogGroupName)
	if err != nil {
		return nil, err
	}
	g.retention = nil
	return &cloudwatchlogs.DeleteRetentionPolicyOutput{}, nil
}

// byARN returns a group by its ARN, without the suffix ":*" that DescribeLogGroups returns.
func (s *site) byARN(arn *string) (*logGroup, error) {
	for _, g := range s.logs.groups.all() {
		if g.arn == aws.ToString(arn) {
			return g, nil
		}
	}
	return nil, refuse(400, "ResourceNotFoundException", "The specified resource does not exist: "+aws.ToString(arn))
}

func (s *site) listLogTags(in *cloudwatchlogs.ListTagsForResourceInput) (*cloudwatchlogs.ListTagsForResourceOutput, error) {
	g, err := s.byARN(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &cloudwatchlogs.ListTagsForResourceOutput{Tags: maps.Clone(g.tags)}, nil
}

func (s *site) tagLogs(in *cloudwatchlogs.TagResourceInput) (*cloudwatchlogs.TagResourceOutput, error) {
	g, err := s.byARN(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string)
	maps.Copy(tags, g.tags)
	maps.Copy(tags, in.Tags)
	g.tags = tags
	return &cloudwatchlogs.TagResourceOutput{}, nil
}

func (s *site) putMetricData(in *cw.PutMetricDataInput) (*cw.PutMetricDataOutput, error) {
	name := aws.ToString(in.Namespace)
	s.logs.metrics[name] = append(s.logs.metrics[name], in.MetricData...)
	return &cw.PutMetricDataOutput{}, nil
}

// Metrics returns all data written to a namespace.
func (w *World) Metrics(namespace string) []cwtypes.MetricDatum {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.site(w.opt.Region).logs.metrics[namespace])
}
