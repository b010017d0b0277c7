package aws

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// openLogs returns the logs of the cluster's machines.
func (a *opened) openLogs() wire.CloudLogs {
	group := a.Target.Spec.Logs.Group
	if group == "" {
		group = storage.LogGroupName(a.Target.Spec.Cluster)
	}
	return wire.CloudLogs{Name: "log group " + group, Read: func(instance string) wire.MachineLogs {
		return func(ctx context.Context, since time.Time, show func(string, wire.MachineLog)) error {
			in := &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group}
			if !since.IsZero() {
				in.StartTime = aws.Int64(since.UnixMilli())
			}
			if instance != "" {
				in.LogStreamNamePrefix = aws.String(instance + "/")
			}
			return a.readLines(ctx, in, show)
		}
	}}
}

func (a *opened) readLines(ctx context.Context, in *cloudwatchlogs.FilterLogEventsInput, show func(string, wire.MachineLog)) error {
	for {
		out, err := a.free.Logs.FilterLogEvents(ctx, in)
		if cloud.KindOf(err) == cloud.NotFound {
			return &wire.NoLogsError{Platform: "aws", Cluster: a.Cluster, Err: err}
		}
		if err != nil {
			return err
		}
		for _, e := range out.Events {
			show(aws.ToString(e.EventId), machineLog(e))
		}
		if out.NextToken == nil {
			return nil
		}
		in.NextToken = out.NextToken
	}
}

func machineLog(e types.FilteredLogEvent) wire.MachineLog {
	instance, unit, _ := strings.Cut(aws.ToString(e.LogStreamName), "/")
	return wire.MachineLog{
		Time: time.UnixMilli(aws.ToInt64(e.Timestamp)).UTC(), Instance: instance, Unit: unit,
		Message: strings.TrimRight(aws.ToString(e.Message), "\n"),
	}
}
