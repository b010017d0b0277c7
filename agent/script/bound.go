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
	// outputMost is how long the output of a script may grow, in bytes, and outputKept
	// how much of its end stays then.
	outputMost = 64 << 20
	outputKept = 1 << 20
	// boundPause is how often it is measured: what is written meanwhile is what the
	// output may be longer by.
	boundPause = 250 * time.Millisecond
)

// Bound keeps the output of a script, and of what it has started in the background, from
// filling the disk, until ctx ends. A file that is not there needs nothing.
func Bound(ctx context.Context, s Script) {
	tick := time.NewTicker(boundPause)
	defer tick.Stop()
	for ctx.Err() == nil {
		_ = truncateOutput(s.Output()) // it is tried again
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	_ = truncateOutput(s.Output()) // what was written last
}

// truncateOutput drops all but the end of a file that has grown too long. Its writers append.
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
	kept := append(fmt.Appendf(nil, "(some %d bytes of output were dropped here)\n", info.Size()-int64(len(end))), end...)
	if err := f.Truncate(0); err != nil { // first: the disk may be full
		return err
	}
	_, err = f.Write(kept)
	return err
}

// cutTries is how often the end is read until nothing was written meanwhile; who writes
// without a pause loses some more.
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

// lastBytes are the last n bytes of a file at most.
func lastBytes(f *os.File, n int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(n, info.Size()))
	read, err := f.ReadAt(buf, info.Size()-int64(len(buf)))
	if read == len(buf) {
		err = nil // the end of the file is no error
	}
	return buf[:read], err
}
