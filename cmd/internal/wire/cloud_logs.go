package wire

import (
	"context"
	"fmt"
)

// CloudLogs is where a cloud keeps what the machines of a cluster write.
type CloudLogs struct {
	// Name is what messages call it.
	Name string
	// Read reads the lines of one machine, or of all when instance is empty.
	Read func(instance string) MachineLogs
}

// Logs gives each the lines that q chooses, oldest first. With Follow it waits for
// more until ctx ends.
func (h *CloudCluster) Logs(ctx context.Context, q MachineLogQuery, each func(MachineLog)) error {
	if err := h.parts.Logs.Read(q.Instance).Follow(ctx, q, each); err != nil {
		return fmt.Errorf("read %s: %w", h.parts.Logs.Name, err)
	}
	return nil
}

// NoLogsError is a cluster whose machines have written nothing yet.
type NoLogsError struct {
	Platform, Cluster string
	Err               error
}

func (e *NoLogsError) Error() string { return e.Err.Error() }
func (e *NoLogsError) Unwrap() error { return e.Err }

// Hint says when there are logs.
func (e *NoLogsError) Hint() string {
	return "machines write there once they run; `det-deploy " + e.Platform + " status --cluster-id " + e.Cluster + "` tells how far the cluster is"
}
