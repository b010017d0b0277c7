package aws

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// Logs gives each the lines that q chooses, oldest first. With Follow it waits for
// more until ctx ends.
func (a *Opened) Logs(ctx context.Context, q wire.MachineLogQuery, each func(wire.MachineLog)) error {
	group := a.Target.Spec.Logs.Group
	if group == "" {
		group = storage.LogGroupName(a.Cluster)
	}
	read := func(ctx context.Context, since time.Time, show func(string, wire.MachineLog)) error {
		in := &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group}
		if !since.IsZero() {
			in.StartTime = aws.Int64(since.UnixMilli())
		}
		if q.Instance != "" {
			in.LogStreamNamePrefix = aws.String(q.Instance + "/")
		}
		return a.readLines(ctx, in, show)
	}
	if err := wire.MachineLogs(read).Follow(ctx, q, each); err != nil {
		return fmt.Errorf("read log group %s: %w", group, err)
	}
	return nil
}

func (a *Opened) readLines(ctx context.Context, in *cloudwatchlogs.FilterLogEventsInput, show func(string, wire.MachineLog)) error {
	for {
		out, err := a.free.Logs.FilterLogEvents(ctx, in)
		if cloud.KindOf(err) == cloud.NotFound {
			return &noLogsError{a.Cluster, err}
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

// noLogsError is a cluster whose machines have written nothing yet.
type noLogsError struct {
	cluster string
	err     error
}

func (e *noLogsError) Error() string { return e.err.Error() }
func (e *noLogsError) Unwrap() error { return e.err }

// Hint says when there are logs.
func (e *noLogsError) Hint() string {
	return "machines write there once they run; `det-deploy aws status --cluster-id " + e.cluster + "` tells how far the cluster is"
}
