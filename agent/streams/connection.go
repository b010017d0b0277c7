package streams

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func serveConnection(ctx context.Context, e container.Entrance, o *agentv1.OpenStream, dial Dial) error {
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	inside, err := e.Dial(opening, o.GetContainerId(), int(o.GetPort()))
	if err != nil {
		return err
	}
	ws, err := dial(opening, o.GetStreamId())
	if err != nil {
		return errors.Join(err, inside.Close())
	}
	frames.Join(ctx, frames.NewConn(ctx, ws), inside)
	return nil
}
