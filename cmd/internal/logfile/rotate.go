// Package logfile bounds the files that roles log to.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// logBytes is the size at which a log file is rotated; the one before it is kept
// beside it, as NAME.1.
const logBytes = 64 << 20

// Rotating bounds the log file that w is, if it is one which is appended to: its
// parent gave this process a file and not a rotation. What is not a file of its own
// is returned as it is.
func Rotating(w io.Writer) io.Writer {
	f, is := w.(*os.File)
	if !is {
		return w
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !isAppending(f) {
		return w
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil || strings.HasSuffix(path, " (deleted)") {
		return w // without /proc the file has no name
	}
	return &rotating{file: f, path: path, limit: logBytes}
}

// isAppending says whether f is written to at its end, wherever that is: others hold the
// same file, and must go on at its new beginning.
func isAppending(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_APPEND != 0
}

// rotating copies a file that is full and empties it, rather than put another one in
// its place: the process's standard error is this file, and so is its children's.
type rotating struct {
	path  string
	limit int64

	mu   sync.Mutex // guards file
	file *os.File
}

// Write implements io.Writer.
func (r *rotating) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if info, err := r.file.Stat(); err == nil && info.Size() >= r.limit {
		if err := r.keepOld(); err != nil {
			// A log that cannot be kept is dropped: it must not fill the disk.
			_, _ = fmt.Fprintf(r.file, "cannot keep the log before this: %v\n", err)
		}
	}
	return r.file.Write(b)
}

// keepOld moves what there is to NAME.1, over the one before it.
func (r *rotating) keepOld() error {
	err := copyFile(r.path, r.path+".1")
	return errors.Join(err, r.file.Truncate(0))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	return atomicfile.Replace(to, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
