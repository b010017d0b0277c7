package awstest

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

func (s *site) createLogStream(in *cloudwatchlogs.CreateLogStreamInput) (*cloudwatchlogs.CreateLogStreamOutput, error) {
	g, err := s.logGroupOf(in.LogGroupName)
	if err != nil {
		return nil, err
	}
	if slices.Contains(g.streams, aws.ToString(in.LogStreamName)) {
		return nil, refuse(400, "ResourceAlreadyExistsException", "The specified log stream already exists")
	}
	g.streams = append(slices.Clone(g.streams), aws.ToString(in.LogStreamName))
	return &cloudwatchlogs.CreateLogStreamOutput{}, nil
}

// putLogEvents accepts at most 10,000 events in chronological order.
func (s *site) putLogEvents(in *cloudwatchlogs.PutLogEventsInput) (*cloudwatchlogs.PutLogEventsOutput, error) {
	g, err := s.logGroupOf(in.LogGroupName)
	if err != nil {
		return nil, err
	}
	stream := aws.ToString(in.LogStreamName)
	if !slices.Contains(g.streams, stream) {
		return nil, refuse(400, "ResourceNotFoundException", "The specified log stream does not exist.")
	}
	ordered := slices.IsSortedFunc(in.LogEvents, func(a, b types.InputLogEvent) int { return int(aws.ToInt64(a.Timestamp) - aws.ToInt64(b.Timestamp)) })
	if !ordered || len(in.LogEvents) == 0 || len(in.LogEvents) > 10000 {
		return nil, refuse(400, "InvalidParameterException", "Log events in a single PutLogEvents request must be in chronological order, and between 1 and 10000")
	}
	events := slices.Clone(g.events)
	for _, e := range in.LogEvents {
		s.serial++
		events = append(events, types.FilteredLogEvent{EventId: aws.String(number(s.serial)), LogStreamName: &stream, Message: e.Message, Timestamp: e.Timestamp, IngestionTime: aws.Int64(s.now().UnixMilli())})
	}
	g.events = events
	return &cloudwatchlogs.PutLogEventsOutput{}, nil
}

// filterLogEvents supports plain words as patterns only.
func (s *site) filterLogEvents(in *cloudwatchlogs.FilterLogEventsInput) (*cloudwatchlogs.FilterLogEventsOutput, error) {
	g, err := s.logGroupOf(in.LogGroupName)
	if err != nil {
		return nil, err
	}
	var all []types.FilteredLogEvent
	for _, e := range g.events {
		at := aws.ToInt64(e.Timestamp)
		switch {
		case in.StartTime != nil && at < *in.StartTime, in.EndTime != nil && at >= *in.EndTime:
		case len(in.LogStreamNames) > 0 && !slices.Contains(in.LogStreamNames, *e.LogStreamName):
		case !strings.HasPrefix(*e.LogStreamName, aws.ToString(in.LogStreamNamePrefix)):
		case !strings.Contains(*e.Message, strings.Trim(aws.ToString(in.FilterPattern), `"`)):
		default:
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b types.FilteredLogEvent) int { return int(*a.Timestamp - *b.Timestamp) })
	some, next, err := page(s, all, in.NextToken, in.Limit)
	return &cloudwatchlogs.FilterLogEventsOutput{Events: some, NextToken: next}, err
}
