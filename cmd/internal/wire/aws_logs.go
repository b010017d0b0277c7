package wire

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
	"github.com/det-deploy/det-deploy/delay"
)

// MachineLog is one line that a machine of a cluster wrote.
type MachineLog struct {
	Time time.Time `json:"time"`
	// Instance is the machine, and Unit what of it wrote.
	Instance string `json:"instance"`
	Unit     string `json:"unit"`
	Message  string `json:"message"`
}

// MachineLogQuery chooses lines of a cluster's machines.
type MachineLogQuery struct {
	// Unit is the end of a stream's name: "det-deploy-master"; all when empty.
	Unit string
	// Instance is one machine; all when empty.
	Instance string
	Since    time.Time
	Follow   bool
}

// followPause is how often a followed log is asked for: CloudWatch takes some
// seconds to show a line, and five such questions a second are all that an account
// has.
const followPause = 3 * time.Second

// late is how much later than younger ones a line may show in CloudWatch.
const late = 30 * time.Second

// Logs gives each the lines that q chooses, oldest first. With Follow it waits for
// more until ctx ends.
func (a *AWS) Logs(ctx context.Context, q MachineLogQuery, each func(MachineLog)) error {
	f := &following{a: a, query: q, seen: make(map[string]time.Time)}
	group := a.Target.Spec.Logs.Group
	if group == "" {
		group = storage.LogGroupName(a.Cluster)
	}
	for {
		if err := f.readLines(ctx, group, each); err != nil {
			return fmt.Errorf("read log group %s: %w", group, err)
		}
		if !q.Follow {
			return nil
		}
		if delay.For(ctx, followPause) != nil {
			return nil //nolint:nilerr // stopping is how following ends
		}
	}
}

// following is a log under way: a line is shown once, also when it turns up late.
type following struct {
	a     *AWS
	query MachineLogQuery
	// seen holds the ids of the lines shown that may still be listed again.
	seen   map[string]time.Time
	newest time.Time
}

func (f *following) readLines(ctx context.Context, group string, each func(MachineLog)) error {
	since := f.query.Since
	if from := f.newest.Add(-late); from.After(since) {
		since = from
	}
	in := &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group}
	if !since.IsZero() {
		in.StartTime = aws.Int64(since.UnixMilli())
	}
	if f.query.Instance != "" {
		in.LogStreamNamePrefix = aws.String(f.query.Instance + "/")
	}
	for {
		out, err := f.a.free.Logs.FilterLogEvents(ctx, in)
		if cloud.KindOf(err) == cloud.NotFound {
			return &noLogsError{f.a.Cluster, err}
		}
		if err != nil {
			return err
		}
		for _, e := range out.Events {
			f.showLines(e, each)
		}
		if out.NextToken == nil {
			break
		}
		in.NextToken = out.NextToken
	}
	for id, at := range f.seen {
		if at.Before(f.newest.Add(-2 * late)) {
			delete(f.seen, id)
		}
	}
	return nil
}

func (f *following) showLines(e types.FilteredLogEvent, each func(MachineLog)) {
	instance, unit, _ := strings.Cut(aws.ToString(e.LogStreamName), "/")
	if f.query.Unit != "" && unit != f.query.Unit {
		return
	}
	id, at := aws.ToString(e.EventId), time.UnixMilli(aws.ToInt64(e.Timestamp)).UTC()
	if _, shown := f.seen[id]; shown && id != "" {
		return
	}
	f.seen[id] = at
	if at.After(f.newest) {
		f.newest = at
	}
	each(MachineLog{Time: at, Instance: instance, Unit: unit, Message: strings.TrimRight(aws.ToString(e.Message), "\n")})
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
