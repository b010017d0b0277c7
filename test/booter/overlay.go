package booter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// whiteout hides a path of the lower layers with a character device 0/0 of that name.
func whiteout(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := unix.Mknod(path, unix.S_IFCHR, 0)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
