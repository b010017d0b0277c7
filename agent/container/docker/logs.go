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
		return fmt.Errorf("read the output of container %s: the engine ended it early", id)
	}
	rest, err := readOn(demux{from: d.nextPosition(), emit: emit, known: known}, false, read)
	if err != nil {
		return err
	}
	return rest.emitRest()
}

// readOn reads the log. It starts again at its last position when timestamps go back, or when
// the log's start was rotated away and the piece at which reading ended has to be found.
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
	errStartGone = errors.New("the start of the output is gone")
	errFound     = errors.New("found")
)

// sought says whether the piece at whose end a reading begins was in the log, whose first
// piece was written at a time then.
type sought struct {
	first int64
	found bool
}

// nextPosition is the position at which the next reading continues.
func (d *demux) nextPosition() container.Position {
	if d.next.Lines > d.from.Lines {
		return d.next
	}
	return d.from
}

// backError is a piece that is no later than the one before it in its stream. Either clocks
// were set, or the engine, which began another file, sends all of that file again: then
// reading again from the last line returns what is next.
type backError struct{ at int64 }

func (e *backError) Error() string {
	return "the engine goes back to " + time.Unix(0, e.at).UTC().Format(time.RFC3339Nano)
}

// readLog takes the whole log apart.
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

// demux takes frames apart:
//
//	0  stream: 1 stdout, 2 stderr   1
//	1  zero                         3
//	4  length, big endian           4
//	8  time, a space, a piece of a line or its end
//
// Positions count lines. For a log of which the start is gone they also hold when its
// first piece was written and how many lines were cut from longer ones since the last
// newline, as bytes of stdout: see packPosition; and when the piece with that newline was, as
// bytes of stderr, in nanoseconds since 1970. They are 0 from agents that knew neither.
// Agents that took carriage returns for text counted other lines: a log that such a one
// began to read is counted as it did, to its end.
type demux struct {
	from    container.Position
	emit    func([]container.Line) error
	next    container.Position // after the last line that was cut
	begun   bool
	seeks   bool // only whether the piece at which from is can be found
	sought  sought
	look    bool           // for the piece at which from is
	skip    int            // lines without a newline that were emitted after it
	first   int64          // microseconds: when the log's first piece was written
	inside  int            // lines since the last that ended in a newline
	returns bool           // a carriage return ends a line
	known   map[int64]bool // the times of pieces to which the log went back
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
			return fmt.Errorf("frame of stream %d with %d bytes is not the engine's", header[0], size)
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
		return fmt.Errorf("piece of output without a time: %.40q", frame)
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

// seekPiece ends at the piece at which from is. Pieces of one long line have the same time, and
// only the last of them ends it.
func (d *demux) seekPiece(at int64, ends bool) error {
	if !d.begun {
		d.begun, d.sought.first = true, at
	}
	if ends && at == d.from.Stderr {
		return errFound
	}
	return nil
}

// goesBack says that a piece is no later than the one before it in its stream. Pieces of
// one long line have the same time.
func (d *demux) goesBack(stream int, at time.Time) bool {
	return at.Before(d.at[stream]) || d.whole[stream] && at.Equal(d.at[stream])
}

// checkFirst sees the first piece, and whether it is the one that always was. If it is not, and
// the piece at from is gone too, the lines between were never read. Timestamps do not
// tell: clocks are set, and a long line has the time of its first piece.
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
		Text: []byte("output was dropped here: the engine keeps so much, and it was not read in time"),
	})
	return nil
}

// insideBits are those of a position that count lines without a newline, above them one
// says that a carriage return ends a line. Of a line that is longer than so many, some is
// emitted again once the start of the log is gone.
const (
	insideBits = 11
	returnsBit = 1 << insideBits
)

// packPosition makes one number of a time in microseconds since 1970, a count and whether a
// carriage return ends a line. Without a count it is the time in nanoseconds, to which
// returns adds one.
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
			At: d.at[stream], Stream: streams[stream], Text: bytes.Clone(c.Text), Next: d.next,
		})
		if len(d.run) >= maxRun {
			if err := d.flushLines(); err != nil {
				return err
			}
		}
	}
}

// isNew counts a line whose last piece was written at a time, if it was not emitted yet.
func (d *demux) isNew(at int64, ends bool) bool {
	if d.look {
		d.look = !ends || at != d.from.Stderr // what comes after it is new
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
