package body

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// lookEvery is the number of bytes of a body after which the free disk space is checked again, because
// other writers use it concurrently.
const lookEvery = 4 << 20

// roomError reports insufficient disk space.
type roomError struct{ free, more, keep int64 }

// Error implements error. It contains the free and the required space.
func (e *roomError) Error() string {
	return fmt.Sprintf("%d MiB of disk space are free, of which %d MiB are reserved for the database; the request needs %d MiB",
		e.free>>20, e.keep>>20, e.more>>20)
}

// lookForRoom returns an error if more bytes would leave too little free disk space. It returns nil if the
// free space is unknown.
func (p Place) lookForRoom(more int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(p.Dir, &s); err != nil {
		return nil //nolint:nilerr // a full disk fails the write
	}
	if free := int64(s.Bavail * uint64(s.Bsize)); free-more < p.Keep {
		return &roomError{free: free, more: more, keep: p.Keep}
	}
	return nil
}

// watched checks the free disk space while it writes.
type watched struct {
	to     io.Writer
	look   func(more int64) error
	unseen int64 // bytes since the last check
}

// Write implements io.Writer.
func (w *watched) Write(b []byte) (int, error) {
	if w.unseen += int64(len(b)); w.unseen >= lookEvery {
		w.unseen = 0
		if err := w.look(0); err != nil {
			return 0, err
		}
	}
	return w.to.Write(b)
}
