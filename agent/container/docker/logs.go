package docker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
)

const (
	// maxFrame bounds a frame in bytes; the engine writes pieces of 16 KiB.
	maxFrame = 4 << 20
	// maxRun is how many lines are emitted at once.
	maxRun = 1000
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

// demux takes frames apart:
//
//	0  stream: 1 stdout, 2 stderr   1
//	1  zero                         3
//	4  length, big endian           4
//	8  time, a space, a piece of a line or its end
type demux struct {
	from   uint64
	emit   func([]container.Line) error
	lines  uint64
	run    []container.Line
	splits [2]container.Splitter
	at     [2]time.Time
}

var streams = [2]string{container.Stdout, container.Stderr}

func (d *demux) copy(r *bufio.Reader) error {
	var header [8]byte
	for {
		if r.Buffered() == 0 {
			if err := d.flush(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(r, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return d.flush()
			}
			return err
		}
		size := binary.BigEndian.Uint32(header[4:])
		if header[0] < 1 || header[0] > 2 || size > maxFrame {
			return fmt.Errorf("frame of stream %d with %d bytes is not the engine's", header[0], size)
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(r, frame); err != nil {
			return err
		}
		if err := d.take(int(header[0]-1), frame); err != nil {
			return err
		}
	}
}

// take adds one frame to its stream.
func (d *demux) take(stream int, frame []byte) error {
	stamp, text, ok := bytes.Cut(frame, []byte{' '})
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !ok || err != nil {
		return fmt.Errorf("piece of output without a time: %.40q", frame)
	}
	d.at[stream] = at
	d.splits[stream].Write(text)
	return d.cut(stream, false)
}

func (d *demux) cut(stream int, final bool) error {
	for {
		text, _, ok := d.splits[stream].Next(final)
		if !ok {
			return nil
		}
		d.lines++
		if d.lines <= d.from {
			continue
		}
		d.run = append(d.run, container.Line{
			At: d.at[stream], Stream: streams[stream], Text: bytes.Clone(text),
			Next: container.Position{Lines: d.lines},
		})
		if len(d.run) >= maxRun {
			if err := d.flush(); err != nil {
				return err
			}
		}
	}
}

// finish emits the last lines, which have no newline.
func (d *demux) finish() error {
	for stream := range streams {
		if err := d.cut(stream, true); err != nil {
			return err
		}
	}
	return d.flush()
}

func (d *demux) flush() error {
	if len(d.run) == 0 {
		return nil
	}
	run := d.run
	d.run = nil
	return d.emit(run)
}
