package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// giveOutput leads a container to the files of its output, which may have been another's.
func (o *onDisk) giveOutput(d dir) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for last := len(o.outputs) - 1; last >= 0; last-- {
		at := o.outputs[last]
		o.outputs = o.outputs[:last]
		if forOutput(at, checkUnused) == nil {
			return os.Symlink(at, d.filePath(outputLink))
		}
		_ = dropOutput(at) // the next agent tries again
	}
	at := o.newName("output")
	return os.Symlink(at, d.filePath(outputLink))
}

// removeOutput removes the files of a container's output, or keeps them for another.
func (o *onDisk) removeOutput(d dir) error {
	at, found := d.leadsTo(outputLink)
	if !found {
		return nil
	}
	if o == nil {
		return dropOutput(at)
	}
	if err := os.Remove(d.filePath(outputLink)); err != nil { // see removeFiles
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.outputs) < sparesMost && forOutput(at, emptyFile) == nil {
		o.outputs = append(o.outputs, at)
		return nil
	}
	return dropOutput(at)
}

func dropOutput(at string) error {
	var errs []error
	for _, name := range outputs {
		if err := os.Remove(at + "." + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// forOutput does something with both files.
func forOutput(at string, do func(*os.File) error) error {
	for _, name := range outputs {
		f, err := openOwn(at+"."+name, os.O_WRONLY)
		if err != nil {
			return err
		}
		if err := errors.Join(do(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// emptyFile makes a file what a new one is. That of an isolated task is its user's.
func emptyFile(f *os.File) error {
	if err := takeBack(f); err != nil {
		return err
	}
	return errors.Join(restoreMode(f, unix.S_IFREG|0o600), truncate(f))
}

// takeBack gives the agent a file that was an isolated task's.
func takeBack(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return err
	}
	return f.Chown(os.Geteuid(), os.Getegid())
}

// truncate changes nothing about an empty file.
func truncate(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	return f.Truncate(0)
}

// checkUnused refuses a file that another process has open: a program outside of a task may
// have got the task's output.
func checkUnused(f *os.File) error {
	// The kernel gives this to one who has the file alone, until it is closed.
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	if err != nil {
		return fmt.Errorf("%s may be in use: %w", f.Name(), err)
	}
	return truncate(f) // a process that was left wrote until it ended
}
