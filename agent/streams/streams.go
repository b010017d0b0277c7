// Package streams serves the streams that the master orders into the agent's containers: connections to
// their ports, programs inside them, and their files.
package streams

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Dial opens the websocket of a stream to the master.
type Dial func(ctx context.Context, id string) (*websocket.Conn, error)

// openTime is the time to open a stream. The master does not wait longer.
const openTime = 10 * time.Second

// ErrNoEntrance is returned where the runtime of the containers cannot reach into them.
var ErrNoEntrance = errors.New("its container runtime cannot do it")

var errUnknown = errors.New("the agent does not know this kind of stream; upgrade it to the master's version")

// Serve opens an ordered stream, first the container's side of it, and serves it until it has ended. It
// returns an error if the stream could not be opened. The stream ends when ctx is done.
func Serve(ctx context.Context, e container.Entrance, o *agentv1.OpenStream, dial Dial) error {
	id := o.GetContainerId()
	switch what := o.GetOpen().(type) {
	case *agentv1.OpenStream_Port:
		return serveConnection(ctx, e, o, dial)
	case *agentv1.OpenStream_Program:
		return serveProgram(ctx, o, dial, func(opening context.Context) (stream.Process, error) {
			return e.Exec(opening, id, programOf(what.Program))
		})
	case *agentv1.OpenStream_ReadPath:
		return serveProgram(ctx, o, dial, func(context.Context) (stream.Process, error) {
			return readFiles(ctx, e, id, what.ReadPath)
		})
	case *agentv1.OpenStream_WriteDir:
		return serveProgram(ctx, o, dial, func(context.Context) (stream.Process, error) {
			return writeFiles(ctx, e, id, what.WriteDir), nil
		})
	default:
		return errUnknown
	}
}

func programOf(p *agentv1.Program) stream.Program {
	out := stream.Program{Argv: p.GetArgv()}
	if t := p.GetTerminal(); t != nil {
		out.Terminal = &stream.Size{Columns: uint16(t.GetColumns()), Rows: uint16(t.GetRows())} //nolint:gosec // sizes of 16 bits
	}
	return out
}

func serveProgram(ctx context.Context, o *agentv1.OpenStream, dial Dial, start func(context.Context) (stream.Process, error)) error {
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	p, err := start(opening)
	if err != nil {
		return err
	}
	ws, err := dial(opening, o.GetStreamId())
	if err != nil {
		return errors.Join(err, p.Close())
	}
	_ = frames.Serve(ctx, ws, p) // the other end learns why it ended
	return nil
}

// FailureOf returns the answer to an order whose stream could not be opened.
func FailureOf(o *agentv1.OpenStream, err error) *agentv1.AgentMessage {
	f := &agentv1.StreamFailed{StreamId: o.GetStreamId(), Reason: excerpt.UpTo(err.Error(), maxReason)}
	switch {
	case errors.Is(err, container.ErrNotRunning):
		f.Kind = agentv1.StreamFailed_KIND_NOT_RUNNING
	case errors.Is(err, ErrNoEntrance), errors.Is(err, errUnknown), errors.Is(err, container.ErrNoAnswer):
		f.Kind = agentv1.StreamFailed_KIND_CANNOT_ENTER
	}
	return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_StreamFailed{StreamFailed: f}}
}

// maxReason is the maximum length of a reason in characters.
const maxReason = 1000
