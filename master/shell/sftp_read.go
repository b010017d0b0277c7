package shell

import (
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/pkg/sftp"
)

// window is how much of a file is kept while it is read.
const window = 512 << 10

// reading is a file that is open for reading. Clients ask for several parts at once, which arrive in
// about the order of the file: the last parts are kept, and only what is far away starts another script.
type reading struct {
	files *files
	path  string
	leave func()

	mu     sync.Mutex
	script *script // nil at the end of the file
	// begin is the offset of kept.
	begin int64
	kept  []byte
}

// Fileread opens a file for reading.
func (f *files) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	if err := f.settle(r.Filepath); err != nil {
		return nil, err
	}
	leave, err := f.take()
	if err != nil {
		return nil, err
	}
	out := &reading{files: f, path: r.Filepath, leave: leave}
	if err := out.seek(0); err != nil {
		leave()
		return nil, err
	}
	return out, nil
}

// seek continues at another offset.
func (r *reading) seek(to int64) error {
	r.stop()
	s, err := r.files.startOpen(readFile, r.path, strconv.FormatInt(to+1, 10))
	if err != nil {
		return err
	}
	_ = s.CloseWrite()
	r.script, r.begin, r.kept = s, to, nil
	return nil
}

func (r *reading) stop() {
	if r.script != nil {
		r.script.abort()
		r.script = nil
	}
}

// ReadAt reads a part of the file.
func (r *reading) ReadAt(to []byte, at int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at < 0 {
		return 0, errors.New("the offset is negative")
	}
	end := r.begin + int64(len(r.kept))
	if at < r.begin || (at > end+window && r.script != nil) {
		if err := r.seek(at); err != nil {
			return 0, err
		}
	}
	if err := r.keep(at + int64(len(to))); err != nil {
		return 0, err
	}
	n := 0
	if skip := at - r.begin; skip < int64(len(r.kept)) {
		n = copy(to, r.kept[skip:])
	}
	if more := len(r.kept) - 2*window; more > 0 {
		r.begin += int64(more + window)
		r.kept = append([]byte(nil), r.kept[more+window:]...)
	}
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}

// keep reads up to an offset, or to the end of the file.
func (r *reading) keep(to int64) error {
	missing := to - r.begin - int64(len(r.kept))
	if missing <= 0 || r.script == nil {
		return nil
	}
	more := make([]byte, missing)
	n, err := io.ReadFull(r.script.Stdout(), more)
	r.kept = append(r.kept, more[:n]...)
	if err == nil {
		return nil
	}
	s := r.script
	r.script = nil
	return s.end()
}

// Close closes the file.
func (r *reading) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.leave()
	r.stop()
	r.kept = nil
	return nil
}
