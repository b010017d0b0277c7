package wire

import (
	"context"
	"fmt"
)

// CloudLogs reads the logs of a cluster's machines in a cloud.
type CloudLogs struct {
	// Name identifies the log in messages.
	Name string
	// Read returns the log of one machine, or of all if instance is empty.
	Read func(instance string) MachineLogs
}

// Logs calls each with the lines that q selects, oldest first. With q.Follow it waits for further lines
// until ctx ends.
func (h *CloudCluster) Logs(ctx context.Context, q MachineLogQuery, each func(MachineLog)) error {
	if err := h.parts.Logs.Read(q.Instance).Follow(ctx, q, each); err != nil {
		return fmt.Errorf("cannot read %s: %w", h.parts.Logs.Name, err)
	}
	return nil
}

// NoLogsError reports a cluster whose machines have not sent any logs yet.
type NoLogsError struct {
	Platform, Cluster string
	Err               error
}

func (e *NoLogsError) Error() string { return e.Err.Error() }
func (e *NoLogsError) Unwrap() error { return e.Err }

// Hint explains when logs appear.
func (e *NoLogsError) Hint() string {
	return "machines send logs when they are running; `det-deploy " + e.Platform + " status --cluster-id " + e.Cluster + "` shows the state of the cluster"
}
