package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// outputMost is the size in bytes at which the output of a script is truncated, and outputKept
	// is the size of the retained end.
	outputMost = 64 << 20
	outputKept = 1 << 20
	// boundPause is the interval between checks of the size. The output can exceed the limit by the
	// amount written in between.
	boundPause = 250 * time.Millisecond
)

// Bound truncates the output of a script and its background processes when it becomes too long,
// until ctx ends, so that it does not fill the disk. A missing file is ignored.
func Bound(ctx context.Context, s Script) {
	tick := time.NewTicker(boundPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		_ = truncateOutput(s.Output()) // it is retried
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	_ = truncateOutput(s.Output()) // the latest output
}

// truncateOutput truncates a file that is too long to its end. The writers append.
func truncateOutput(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Size() <= outputMost {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	end, err := steadyEnd(f)
	if err != nil {
		return err
	}
	if _, rest, found := bytes.Cut(end, []byte{'\n'}); found {
		end = rest
	}
	kept := append(fmt.Appendf(nil, "(about %d bytes of output were dropped here)\n", info.Size()-int64(len(end))), end...)
	if err := f.Truncate(0); err != nil { // before the write, because the disk may be full
		return err
	}
	_, err = f.Write(kept)
	return err
}

// cutTries is the number of attempts to read the end without a concurrent write. If a process
// writes continuously, some more output is lost.
const cutTries = 10

func steadyEnd(f *os.File) (end []byte, err error) {
	for range cutTries {
		before, serr := f.Stat()
		end, err = lastBytes(f, outputKept)
		after, aerr := f.Stat()
		if err := errors.Join(serr, err, aerr); err != nil || before.Size() == after.Size() {
			return end, err
		}
	}
	return end, err
}

// lastBytes returns up to n bytes from the end of a file.
func lastBytes(f *os.File, n int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(n, info.Size()))
	read, err := f.ReadAt(buf, info.Size()-int64(len(buf)))
	if read == len(buf) {
		err = nil // io.EOF is no error
	}
	return buf[:read], err
}
