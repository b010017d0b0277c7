package program

import (
	"fmt"
	"io"
	"time"
)

// tellEvery is the minimum interval between progress reports. A fast upload, and the SDK's pass
// over the file for its checksum, produce none.
const tellEvery = 3 * time.Second

// upload is a file that is being uploaded and that reports the bytes read.
type upload struct {
	io.ReadSeeker

	now       func() time.Time
	tell      func(string)
	size, pos int64
	told      time.Time
}

// WatchUpload returns a reader of f that reports the progress of the upload every few seconds.
func WatchUpload(f io.ReadSeeker, now func() time.Time, tell func(string)) (io.ReadSeeker, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return &upload{ReadSeeker: f, now: now, tell: tell, size: size, told: now()}, nil
}

// Read reads from the file and reports the progress.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadSeeker.Read(p)
	u.pos += int64(n)
	if at := u.now(); n > 0 && at.Sub(u.told) >= tellEvery {
		u.told = at
		const mb = 1_000_000
		u.tell(fmt.Sprintf("uploaded %d of %d MB (%d %%)", u.pos/mb, u.size/mb, u.pos*100/max(u.size, 1)))
	}
	return n, err
}

// Seek rewinds for a retry.
func (u *upload) Seek(offset int64, whence int) (int64, error) {
	n, err := u.ReadSeeker.Seek(offset, whence)
	u.pos = n
	return n, err
}
