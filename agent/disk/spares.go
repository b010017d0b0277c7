package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// sparesMost is how many empty files wait for the next journals.
	sparesMost = 64
	// spareSize is the longest journal that becomes a spare file: there is no gain in
	// keeping one whose blocks take longer to free.
	spareSize = 1 << 20
)

// spares are files that journals have left, empty.
type spares struct {
	mu    sync.Mutex
	names []string
	made  int
}

// put makes a spare file of one, or removes it. One that is not there is no error.
func (s *spares) put(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) >= sparesMost || info.Size() > spareSize || !info.Mode().IsRegular() || emptyFile(name) != nil {
		return os.Remove(name)
	}
	s.made++
	spare := filepath.Join(filepath.Dir(name), "spare-"+strconv.Itoa(s.made))
	if err := os.Rename(name, spare); err != nil {
		return err
	}
	s.names = append(s.names, spare)
	return nil
}

// emptyFile empties a file that it opens and closes: ext4 writes to the medium, when it is closed,
// what is in a file that was emptied before, and would do so for the next journal.
func emptyFile(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// take puts a spare file at name, if there is one.
func (s *spares) take(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.names) - 1; last >= 0 {
		_ = os.Rename(s.names[last], name) // without it, one is made
		s.names = s.names[:last]
	}
}
