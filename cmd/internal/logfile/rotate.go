// Package logfile limits the size of the log files of the roles.
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

// logBytes is the size at which a log file is rotated. One previous file is kept as NAME.1.
const logBytes = 64 << 20

// Rotating returns a writer that rotates w if w is a regular file opened for appending, which is the case
// if the parent process redirects to a file without rotation. Otherwise it returns w.
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
		return w // without /proc the name of the file is unknown
	}
	return &rotating{file: f, path: path, limit: logBytes}
}

// isAppending reports whether f was opened with O_APPEND. Only then do other processes with the same open
// file continue at its new start after it is truncated.
func isAppending(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_APPEND != 0
}

// rotating copies a full file and truncates it instead of replacing it, because the file is the standard
// error of this process and its children.
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
			// A log that cannot be copied is discarded, because it must not fill the disk.
			_, _ = fmt.Fprintf(r.file, "cannot keep the previous log: %v\n", err)
		}
	}
	return r.file.Write(b)
}

// keepOld copies the file to NAME.1, replacing the previous copy, and truncates it.
func (r *rotating) keepOld() error {
	err := copyFile(r.path, r.path+".1")
	return errors.Join(err, r.file.Truncate(0))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // read only
	return atomicfile.Replace(to, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
