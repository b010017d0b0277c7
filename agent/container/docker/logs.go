package docker

import (
	"bufio"
	"context"
	"fmt"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Logs reads the engine's log from its start and skips the lines before from:
// the engine keeps pieces in the order in which they came, so the same lines
// come out each time. A followed log may end a piece too early, and so what
// is left after the container's end is read once more without following.
func (r *Runtime) Logs(ctx context.Context, id string, from container.Position, emit func([]container.Line) error) error {
	d := &demux{from: from.Lines, emit: emit}
	if err := r.readLog(ctx, id, d, true); err != nil {
		return err
	}
	// The stream also ends when the engine stops.
	s, err := r.Inspect(ctx, id)
	if err != nil {
		return err
	}
	if s.Phase == container.Running {
		return fmt.Errorf("read the output of container %s: the engine ended it early", id)
	}
	rest := &demux{from: max(from.Lines, d.lines), emit: emit}
	if err := r.readLog(ctx, id, rest, false); err != nil {
		return err
	}
	return rest.finish()
}

// readLog takes the whole log apart.
func (r *Runtime) readLog(ctx context.Context, id string, d *demux, follow bool) error {
	body, err := r.api.ContainerLogs(ctx, name(id), client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Timestamps: true, Follow: follow,
	})
	if cerrdefs.IsNotFound(err) {
		err = container.ErrGone
	}
	if err != nil {
		return fmt.Errorf("read the output of container %s: %w", id, err)
	}
	defer func() { _ = body.Close() }()
	if err := d.copy(bufio.NewReaderSize(body, 64<<10)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("read the output of container %s: %w", id, err)
	}
	return nil
}
