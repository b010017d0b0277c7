package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// followInterval is the interval between reads of the files.
const followInterval = 50 * time.Millisecond

// readSize is the number of bytes read at once.
const readSize = 256 << 10

// readBuffers pools buffers of readSize, because most tasks have little output.
var readBuffers = sync.Pool{New: func() any {
	b := make([]byte, readSize)
	return &b
}}

// Logs reads both files. Lines of one stream are in order; lines of different streams are in the
// order of reading.
func (r *Runtime) Logs(ctx context.Context, id string, from container.Position, emit func([]container.Line) error) error {
	t, err := r.containerDir(id).openTail(from)
	if err != nil {
		return fmt.Errorf("read the output of process %s: %w", id, err)
	}
	defer t.close()

	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := r.Wait(ctx, id)
		ended <- err
	}()
	err = t.followOutput(ctx, ended, emit)
	cancel()
	if !t.final {
		// Wait for the goroutine; its error is that of the context.
		if werr := <-ended; err == nil {
			err = werr
		}
	}
	return err
}

// tail is the reading position in the two files.
type tail struct {
	out, err source
	next     container.Position
	final    bool
	// buf is one of readBuffers.
	buf *[]byte
}

type source struct {
	name  string
	file  *os.File
	at    int64
	found int64 // size when the file was opened
	split container.Splitter
	freed int64 // number of bytes at the start that were returned to the file system
}

func (d dir) openTail(from container.Position) (*tail, error) {
	var files [2]*os.File
	for i, name := range d.outputFiles() {
		var err error
		if files[i], err = openOwn(name, os.O_RDWR); err == nil {
			continue
		}
		_ = files[0].Close() // on a nil file it returns an error
		if i == 0 && errors.Is(err, fs.ErrNotExist) {
			return nil, container.ErrGone
		}
		return nil, err
	}
	t := &tail{
		next: from,
		out:  source{name: container.Stdout, file: files[0], at: from.Stdout},
		err:  source{name: container.Stderr, file: files[1], at: from.Stderr},
		buf:  readBuffers.Get().(*[]byte),
	}
	if err := errors.Join(t.out.inspectFile(), t.err.inspectFile()); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// inspectFile records the size of the file, and whether the byte before the position is a carriage
// return.
func (s *source) inspectFile() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	s.found = info.Size()
	if s.at == 0 {
		return nil
	}
	var before [1]byte
	if _, err := s.file.ReadAt(before[:], s.at-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.split.AfterReturn = before[0] == '\r'
	return nil
}

func (t *tail) close() {
	readBuffers.Put(t.buf)
	_ = t.out.file.Close()
	_ = t.err.file.Close()
}

// followOutput reads until the channel reports the exit, and then the rest.
func (t *tail) followOutput(ctx context.Context, ended <-chan error, emit func([]container.Line) error) error {
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		if err := t.drainLines(emit); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			// A task that disappeared has a last line too.
			t.final = true
			if err != nil && !errors.Is(err, container.ErrGone) {
				return err
			}
			return t.drainLines(emit)
		case <-tick.C:
		}
	}
}

// drainLines emits all available lines.
func (t *tail) drainLines(emit func([]container.Line) error) error {
	for {
		more := false
		var lines []container.Line
		for _, s := range []*source{&t.out, &t.err} {
			skipped, err := t.catchUp(s)
			if err != nil {
				return err
			}
			lines = append(lines, skipped...)
			n, err := s.file.ReadAt(*t.buf, s.at)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			s.at += int64(n)
			s.split.Write((*t.buf)[:n])
			more = more || n == len(*t.buf)
			lines = t.cutLines(s, lines, t.final && n < len(*t.buf))
		}
		if len(lines) > 0 {
			if err := emit(lines); err != nil {
				return err
			}
			t.releaseFile()
		}
		if !more {
			return nil
		}
	}
}

func (t *tail) cutLines(s *source, lines []container.Line, final bool) []container.Line {
	now := time.Now()
	for {
		c, ok := s.split.Next(final)
		if !ok {
			return lines
		}
		t.next.Lines++
		*t.streamPosition(s) += int64(c.Size)
		lines = append(lines, container.Line{At: now, Stream: s.name, Text: c.Text, Partial: c.Partial, Next: t.next})
	}
}
