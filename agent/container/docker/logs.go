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
	// maxFrame is the maximum size of a frame in bytes; the engine writes pieces of 16 KiB.
	maxFrame = 4 << 20
	// maxRun is the maximum number of lines emitted at once.
	maxRun = 1000
)

// Logs reads the engine's log from its start and skips the lines before from. The engine returns
// the pieces in a fixed order, so the lines are the same each time. If the log was rotated and its
// start is gone, Logs looks for the piece at which reading ended. A followed log may end before the
// last piece, so after the container's exit the rest is read again without following.
func (r *Runtime) Logs(ctx context.Context, id string, from container.Position, emit func([]container.Line) error) error {
	known := map[int64]bool{}
	read := func(d *demux, follow bool) error { return r.readLog(ctx, id, d, follow) }
	d, err := readOn(demux{from: from, emit: emit, known: known}, true, read)
	if err != nil {
		return err
	}
	// The stream also ends when the engine stops.
	s, err := r.Inspect(ctx, id)
	if err != nil {
		return err
	}
	if s.Phase == container.Running {
		return fmt.Errorf("read the output of container %s: the engine closed the stream early", id)
	}
	rest, err := readOn(demux{from: d.nextPosition(), emit: emit, known: known}, false, read)
	if err != nil {
		return err
	}
	return rest.emitRest()
}

// readOn reads the log. It restarts at its last position if timestamps go back, or if the log's
// start was rotated away and the piece at which reading ended has to be found.
func readOn(as demux, follow bool, read func(d *demux, follow bool) error) (*demux, error) {
	for {
		d := as
		err := read(&d, follow)
		if b, back := errors.AsType[*backError](err); back {
			as.known[b.at], as.from, as.sought = true, d.nextPosition(), sought{}
			continue
		}
		if !errors.Is(err, errStartGone) {
			return &d, err
		}
		s := demux{seeks: true, from: as.from}
		err = read(&s, false)
		if err != nil && !errors.Is(err, errFound) {
			return &s, err
		}
		as.sought = sought{first: s.sought.first, found: err != nil}
	}
}

var (
	errStartGone = errors.New("the start of the output was rotated")
	errFound     = errors.New("found")
)

// sought is the result of a search for the piece at which a reading ended: whether the log
// contained it, and the time of the log's first piece.
type sought struct {
	first int64
	found bool
}

// nextPosition returns the position at which the next reading continues.
func (d *demux) nextPosition() container.Position {
	if d.next.Lines > d.from.Lines {
		return d.next
	}
	return d.from
}

// backError is returned for a piece that is not newer than its predecessor in the stream. Either
// the clock was set back, or the engine, which has begun another file, resends that whole file.
// Both are handled by reading again from the last line.
type backError struct{ at int64 }

func (e *backError) Error() string {
	return "the engine's log goes back to " + time.Unix(0, e.at).UTC().Format(time.RFC3339Nano)
}

// readLog reads and demultiplexes the whole log.
func (r *Runtime) readLog(ctx context.Context, id string, d *demux, follow bool) error {
	body, err := r.api.ContainerLogs(ctx, containerName(id), client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Timestamps: true, Follow: follow,
	})
	if cerrdefs.IsNotFound(err) {
		err = container.ErrGone
	}
	if err != nil {
		return fmt.Errorf("read the output of container %s: %w", id, err)
	}
	defer func() { _ = body.Close() }()
	if err := d.copyFrames(bufio.NewReaderSize(body, 64<<10)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("read the output of container %s: %w", id, err)
	}
	return nil
}

// demux parses the engine's frames:
//
//	0  stream: 1 stdout, 2 stderr   1
//	1  zero                         3
//	4  length, big endian           4
//	8  time, a space, a piece of a line or its end
//
// Positions count lines. To find a position in a log whose start is gone, they also contain, as
// bytes of stdout, the time of the first piece and the number of lines split from long ones since
// the last newline (see packPosition), and as bytes of stderr, the time of the piece with that
// newline in nanoseconds since 1970. Both are 0 in positions of older agents. Older agents also
// treated carriage returns as text and counted different lines; a log that such an agent began to
// read is counted the same way to its end.
type demux struct {
	from    container.Position
	emit    func([]container.Line) error
	next    container.Position // after the last line that was cut
	begun   bool
	seeks   bool // only search for the piece of position from
	sought  sought
	look    bool           // skip pieces up to the one of position from
	skip    int            // number of emitted lines without a newline after it
	first   int64          // time of the log's first piece, in microseconds
	inside  int            // number of lines since the last one with a newline
	returns bool           // a carriage return ends a line
	known   map[int64]bool // times of pieces to which the log went back
	run     []container.Line
	splits  [2]container.Splitter
	at      [2]time.Time
	whole   [2]bool // the last piece ended its line
}

var streams = [2]string{container.Stdout, container.Stderr}

func (d *demux) copyFrames(r *bufio.Reader) error {
	var header [8]byte
	for {
		if r.Buffered() == 0 {
			if err := d.flushLines(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(r, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return d.flushLines()
			}
			return err
		}
		size := binary.BigEndian.Uint32(header[4:])
		if header[0] < 1 || header[0] > 2 || size > maxFrame {
			return fmt.Errorf("invalid frame: stream %d, %d bytes", header[0], size)
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(r, frame); err != nil {
			return err
		}
		if err := d.takeFrame(int(header[0]-1), frame); err != nil {
			return err
		}
	}
}

// takeFrame adds one frame to its stream.
func (d *demux) takeFrame(stream int, frame []byte) error {
	stamp, text, ok := bytes.Cut(frame, []byte{' '})
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !ok || err != nil {
		return fmt.Errorf("output without a timestamp: %.40q", frame)
	}
	ends := bytes.HasSuffix(text, []byte{'\n'})
	if d.seeks {
		return d.seekPiece(at.UnixNano(), ends)
	}
	if !d.begun {
		if err := d.checkFirst(at); err != nil {
			return err
		}
		for i := range d.splits {
			d.splits[i].NewlinesOnly = !d.returns
		}
	}
	if d.goesBack(stream, at) && !d.known[at.UnixNano()] {
		if err := d.flushLines(); err != nil {
			return err
		}
		return &backError{at.UnixNano()}
	}
	d.at[stream], d.whole[stream] = at, ends
	d.splits[stream].Write(text)
	return d.cutLines(stream, false)
}

// seekPiece returns errFound at the piece of position from. The pieces of a long line have the same
// time, and only the last one ends it.
func (d *demux) seekPiece(at int64, ends bool) error {
	if !d.begun {
		d.begun, d.sought.first = true, at
	}
	if ends && at == d.from.Stderr {
		return errFound
	}
	return nil
}

// goesBack reports whether a piece is not newer than its predecessor in the stream. The pieces of a
// long line have the same time.
func (d *demux) goesBack(stream int, at time.Time) bool {
	return at.Before(d.at[stream]) || d.whole[stream] && at.Equal(d.at[stream])
}

// checkFirst compares the log's first piece with the one of the position. If the start is gone, and
// the piece of position from too, the lines between were lost, and it emits a notice. Timestamps
// cannot tell, because clocks are set and a long line has the time of its first piece.
func (d *demux) checkFirst(at time.Time) error {
	was, inside, returns := unpackPosition(d.from.Stdout)
	d.begun, d.first, d.returns = true, at.UnixMicro(), returns || d.from.Lines == 0
	if was == 0 || was == d.first {
		return nil
	}
	if d.sought.first != at.UnixNano() {
		return errStartGone
	}
	d.first, d.next = was, d.from
	if d.sought.found {
		d.look, d.skip = true, inside
		return nil
	}
	d.next.Lines++
	d.run = append(d.run, container.Line{
		At: at, Stream: container.Stderr, Next: d.next,
		Text: []byte("output was lost here: the engine rotated the log before it was read"),
	})
	return nil
}

// insideBits is the number of bits of a position that count lines without a newline. The bit above
// is set if a carriage return ends a line. Of a line split into more parts, some are emitted again
// if the start of the log is gone.
const (
	insideBits = 11
	returnsBit = 1 << insideBits
)

// packPosition encodes a time in microseconds since 1970, a count and whether a carriage return
// ends a line. If the count is 0, the result is the time in nanoseconds, plus 1 with returns.
func packPosition(first int64, inside int, returns bool) int64 {
	mark, bit := int64(0), int64(0)
	if returns {
		mark, bit = 1, returnsBit
	}
	if inside == 0 {
		return first*1000 + mark
	}
	return -(first<<(insideBits+1) | bit | int64(min(inside, returnsBit-1)))
}

func unpackPosition(n int64) (first int64, inside int, returns bool) {
	if n >= 0 {
		return n / 1000, 0, n%1000 != 0
	}
	return -n >> (insideBits + 1), int(-n & (returnsBit - 1)), -n&returnsBit != 0
}

func (d *demux) cutLines(stream int, final bool) error {
	for {
		c, ok := d.splits[stream].Next(final)
		if !ok {
			return nil
		}
		if !d.isNew(d.at[stream].UnixNano(), c.Newline) {
			continue
		}
		d.run = append(d.run, container.Line{
			At: d.at[stream], Stream: streams[stream], Text: bytes.Clone(c.Text), Partial: c.Partial, Next: d.next,
		})
		if len(d.run) >= maxRun {
			if err := d.flushLines(); err != nil {
				return err
			}
		}
	}
}

// isNew counts a line whose last piece has the time at, and reports whether it was not emitted
// before.
func (d *demux) isNew(at int64, ends bool) bool {
	if d.look {
		d.look = !ends || at != d.from.Stderr // everything after it is new
		return false
	}
	d.inside++
	if ends {
		d.next.Stderr, d.inside, d.skip = at, 0, 0
	}
	if d.skip > 0 {
		d.skip--
		return false
	}
	d.next.Lines++
	d.next.Stdout = packPosition(d.first, d.inside, d.returns)
	return d.next.Lines > d.from.Lines
}

// emitRest emits the last lines, which have no newline.
func (d *demux) emitRest() error {
	for stream := range streams {
		if err := d.cutLines(stream, true); err != nil {
			return err
		}
	}
	return d.flushLines()
}

func (d *demux) flushLines() error {
	if len(d.run) == 0 {
		return nil
	}
	run := d.run
	d.run = nil
	return d.emit(run)
}
