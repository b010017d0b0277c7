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

// Logs reads the engine's log from its start and skips the lines before from: the engine
// keeps pieces in the order in which they came, so the same lines come out each time. Of
// a log that was rotated the start is gone, and the piece is looked for where the lines
// ended. A followed log may end a piece too early, and so what is left after the
// container's end is read once more without following.
func (r *Runtime) Logs(ctx context.Context, id string, from container.Position, emit func([]container.Line) error) error {
	known := map[int64]bool{}
	d, err := r.readOn(ctx, id, demux{from: from, emit: emit, known: known}, true)
	if err != nil {
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
	rest, err := r.readOn(ctx, id, demux{from: d.reached(), emit: emit, known: known}, false)
	if err != nil {
		return err
	}
	return rest.finish()
}

// readOn reads the log, and begins anew where it was when the log goes back.
func (r *Runtime) readOn(ctx context.Context, id string, as demux, follow bool) (*demux, error) {
	for {
		d := as
		err := r.readLog(ctx, id, &d, follow)
		b, back := errors.AsType[*backError](err)
		if !back {
			return &d, err
		}
		as.known[b.at], as.from = true, d.reached()
	}
}

// reached is where the next reading goes on.
func (d *demux) reached() container.Position {
	if d.next.Lines > d.from.Lines {
		return d.next
	}
	return d.from
}

// backError is a piece that is no later than the one before it in its stream. Either clocks
// were set, or the engine, which began another file, says all of that file again: then
// reading anew from the last line gives what is next.
type backError struct{ at int64 }

func (e *backError) Error() string {
	return "the engine goes back to " + time.Unix(0, e.at).UTC().Format(time.RFC3339Nano)
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
//
// Positions count lines. For a log of which the start is gone they also hold when its
// first piece was written, as bytes of stdout, and when the piece at whose end they are,
// as bytes of stderr; in nanoseconds since 1970, and 0 from agents that knew neither.
type demux struct {
	from   container.Position
	emit   func([]container.Line) error
	next   container.Position // after the last line that was cut
	begun  bool
	look   bool           // for the piece at which from is
	known  map[int64]bool // the times of pieces to which the log went back
	run    []container.Line
	splits [2]container.Splitter
	at     [2]time.Time
	whole  [2]bool // the last piece ended its line
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
	if !d.begun {
		d.begin(at)
	}
	if d.goesBack(stream, at) && !d.known[at.UnixNano()] {
		if err := d.flush(); err != nil {
			return err
		}
		return &backError{at.UnixNano()}
	}
	d.at[stream], d.whole[stream] = at, bytes.HasSuffix(text, []byte{'\n'})
	if d.look {
		switch was := d.from.Stderr; {
		case at.UnixNano() == was: // what comes after it is new
			d.look = false
			return nil
		case at.UnixNano() < was+lookMost.Nanoseconds():
			return nil
		}
		d.look = false // clocks are set
	}
	d.splits[stream].Write(text)
	return d.cut(stream, false)
}

// goesBack says that a piece is no later than the one before it in its stream. Pieces of
// one long line have the same time.
func (d *demux) goesBack(stream int, at time.Time) bool {
	return at.Before(d.at[stream]) || d.whole[stream] && at.Equal(d.at[stream])
}

// lookMost is how much later than the piece that is looked for one may be that comes
// before it: two streams write at once.
const lookMost = 10 * time.Second

// begin sees the first piece, and whether it is the one that always was. If it is later
// than what was emitted last, nobody has read what was between.
func (d *demux) begin(at time.Time) {
	d.begun = true
	first := at.UnixNano()
	if was := d.from.Stdout; was == 0 || was == first {
		d.next.Stdout = first
		return
	}
	d.next, d.look = d.from, first <= d.from.Stderr
	if d.look {
		return
	}
	d.next.Lines++
	d.run = append(d.run, container.Line{
		At: at, Stream: container.Stderr, Next: d.next,
		Text: []byte("output was dropped here: the engine keeps so much, and it was not read in time"),
	})
}

func (d *demux) cut(stream int, final bool) error {
	for {
		text, _, ok := d.splits[stream].Next(final)
		if !ok {
			return nil
		}
		d.next.Lines++
		d.next.Stderr = d.at[stream].UnixNano()
		if d.next.Lines <= d.from.Lines {
			continue
		}
		d.run = append(d.run, container.Line{
			At: d.at[stream], Stream: streams[stream], Text: bytes.Clone(text), Next: d.next,
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
