package docker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

const (
	// maxFrame bounds a frame in bytes; the engine writes pieces of 16 KiB.
	maxFrame = 4 << 20
	// maxRun is how many lines are emitted at once.
	maxRun = 1000
)

// demux takes frames apart:
//
//	0  stream: 1 stdout, 2 stderr   1
//	1  zero                         3
//	4  length, big endian           4
//	8  time, a space, a piece of a line or its end
//
// Positions count lines, of which a line that is too long is several.
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
