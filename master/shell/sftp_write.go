package shell

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/pkg/sftp"
)

// mostWaiting is how much of a file waits for the part before it.
const mostWaiting = 512 << 10

// writing is a file that is open for writing. Clients send several parts at once, which arrive in about
// the order of the file: a part waits for the one before it.
type writing struct {
	files *files
	path  string
	leave func()

	mu     sync.Mutex
	script *script // nil while nothing is written
	// next is the offset of the next byte, and waiting has the parts that are not written by their offset.
	next    int64
	waiting map[int64][]byte
	size    int
	// first is the first offset at which one may write.
	first int64
	err   error
}

// Filewrite opens a file for writing.
func (f *files) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	if err := f.settle(r.Filepath); err != nil {
		return nil, err
	}
	leave, err := f.take()
	if err != nil {
		return nil, err
	}
	w, flags, letters := &writing{files: f, path: r.Filepath, leave: leave, waiting: map[int64][]byte{}}, r.Pflags(), ""
	for letter, is := range map[string]bool{"c": flags.Creat, "x": flags.Creat && flags.Excl, "t": flags.Trunc} {
		if is {
			letters += letter
		}
	}
	if err := w.open(letters, modeAtOpening(r)); err != nil {
		leave()
		return nil, err
	}
	f.mu.Lock()
	f.writes[w] = struct{}{}
	f.mu.Unlock()
	if !flags.Append {
		return w, nil
	}
	l, err := f.stat(`stat -L -c "$2" -- "$1"`, r.Filepath)
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	w.first = l.size
	return w, nil
}

// modeAtOpening returns the mode of a new file, if the client tells only that: the library does not say which
// attributes there are, and four bytes can be no other.
func modeAtOpening(r *sftp.Request) string {
	if len(r.Attrs) != 4 {
		return ""
	}
	return octal(fs.FileMode(binary.BigEndian.Uint32(r.Attrs)).Perm())
}

// open starts the script that writes from the next offset on.
func (w *writing) open(letters, mode string) (err error) {
	w.script, err = w.files.startOpen(writeFile, w.path, strconv.FormatInt(w.next, 10), letters, mode)
	return err
}

// WriteAt writes a part of the file, or keeps it until those before it are written. An error can be that of
// an earlier part.
func (w *writing) WriteAt(b []byte, at int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at < w.first {
		return 0, errors.New("a file that is open for appending is written at its end only")
	}
	if len(b) == 0 || w.err != nil {
		return 0, w.err
	}
	w.size += len(b) - len(w.waiting[at])
	w.waiting[at] = bytes.Clone(b)
	w.err = w.flush(mostWaiting)
	return len(b), w.err
}

// flush writes what can be written, and goes to other offsets while more than most bytes wait.
func (w *writing) flush(most int) error {
	for {
		if b, found := w.waiting[w.next]; found {
			if err := w.write(b); err != nil {
				return err
			}
			continue
		}
		if w.size <= most {
			return nil
		}
		if err := w.stop(); err != nil {
			return err
		}
		w.next = slices.Min(slices.Collect(maps.Keys(w.waiting)))
	}
}

// write writes the part at the next offset.
func (w *writing) write(b []byte) error {
	if w.script == nil {
		if err := w.open("", ""); err != nil {
			return err
		}
	}
	delete(w.waiting, w.next)
	w.size -= len(b)
	w.next += int64(len(b))
	if _, err := w.script.Write(b); err != nil {
		return cmp.Or(w.stop(), err)
	}
	return nil
}

// stop waits until what was passed to the script is written.
func (w *writing) stop() error {
	if w.script == nil {
		return nil
	}
	s := w.script
	w.script = nil
	_ = s.CloseWrite()
	return s.end()
}

// settle writes everything that waits.
func (w *writing) settle() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.flush(0)
	}
	if err := w.stop(); w.err == nil {
		w.err = err
	}
	return w.err
}

// Close writes everything, and closes the file.
func (w *writing) Close() error {
	defer w.leave()
	w.files.mu.Lock()
	delete(w.files.writes, w)
	w.files.mu.Unlock()
	return w.settle()
}

// settle writes everything that clients have written to a file, so that what follows finds it.
func (f *files) settle(path string) error {
	f.mu.Lock()
	var open []*writing
	for w := range f.writes {
		if w.path == path {
			open = append(open, w)
		}
	}
	f.mu.Unlock()
	for _, w := range open {
		if err := w.settle(); err != nil {
			return err
		}
	}
	return nil
}
