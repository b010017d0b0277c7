package machine

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
)

// LogGroup is a CloudWatch log group. It must exist: a machine has the permission to write to it
// and no more.
type LogGroup struct {
	Name string
	Logs api.Logs

	mu   sync.Mutex // guards made
	made map[string]bool
}

var _ journal.Sink = (*LogGroup)(nil)

// Put appends events to a stream.
func (g *LogGroup) Put(ctx context.Context, stream string, events []journal.Event) error {
	if err := g.makeStream(ctx, stream); err != nil {
		return err
	}
	in := &cloudwatchlogs.PutLogEventsInput{LogGroupName: &g.Name, LogStreamName: &stream}
	for _, e := range events {
		in.LogEvents = append(in.LogEvents, types.InputLogEvent{Timestamp: aws.Int64(e.At.UnixMilli()), Message: aws.String(e.Text)})
	}
	if _, err := g.Logs.PutLogEvents(ctx, in); err != nil {
		if cloud.KindOf(err) == cloud.NotFound { // the stream was deleted
			g.forgetStream(stream)
		}
		return fmt.Errorf("write to %s of log group %s: %w", stream, g.Name, err)
	}
	return nil
}

// makeStream creates a stream once.
func (g *LogGroup) makeStream(ctx context.Context, stream string) error {
	g.mu.Lock()
	made := g.made[stream]
	g.mu.Unlock()
	if made {
		return nil
	}
	_, err := g.Logs.CreateLogStream(ctx, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &g.Name, LogStreamName: &stream})
	if err != nil && cloud.KindOf(err) != cloud.Conflict { // a conflict means that the stream exists
		return fmt.Errorf("create %s in log group %s: %w", stream, g.Name, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made == nil {
		g.made = map[string]bool{}
	}
	g.made[stream] = true
	return nil
}

func (g *LogGroup) forgetStream(stream string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.made, stream)
}
