package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// removeDir is os.RemoveAll for a directory, with a third of its calls: that finds out by trying
// whether each entry is a directory.
func removeDir(at string) error {
	if removeEntries(unix.AT_FDCWD, at) == nil && unix.Rmdir(at) == nil {
		return nil
	}
	return os.RemoveAll(at)
}

// removeEntries removes what is in a directory. It follows no link.
func removeEntries(parent int, name string) (err error) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { err = errors.Join(err, f.Close()) }()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		flags := 0
		if e.IsDir() {
			flags = unix.AT_REMOVEDIR
			if err := removeEntries(fd, e.Name()); err != nil {
				return err
			}
		}
		if err := unix.Unlinkat(fd, e.Name(), flags); err != nil {
			return err
		}
	}
	return nil
}

// removeKnown is removeDir where it is known what is in the directory, which then is not read.
func (d dir) removeKnown(h *held) error {
	if len(h.names) == 0 || d.removeNames(h) != nil {
		return removeDir(string(d))
	}
	return nil
}

func (d dir) removeNames(h *held) (err error) {
	fd, err := unix.Open(string(d), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for _, name := range h.names {
		if uerr := unix.Unlinkat(fd, name, 0); err == nil && !errors.Is(uerr, unix.ENOENT) {
			err = uerr
		}
	}
	if h.info && err == nil {
		err = unix.Unlinkat(fd, infoName, unix.AT_REMOVEDIR)
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return err
	}
	return unix.Rmdir(string(d))
}
