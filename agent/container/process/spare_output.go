package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openMost is how many of the pairs of files that wait for the next tasks stay open; of the others the
// names are kept.
const openMost = 64

// spareOutput are the files of the output of a task that is gone.
type spareOutput struct {
	at string
	// reads are nil where they are not open.
	reads *outputReads
	// unused says that no process has them open but this one, and that they are empty.
	unused bool
}

// giveOutput leads a container to the files of its output, which may have been another's.
func (o *onDisk) giveOutput(d dir) (at string, reads *outputReads, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for last := len(o.outputs) - 1; last >= 0; last-- {
		s := o.outputs[last]
		o.outputs = o.outputs[:last]
		if s.reads == nil {
			s.reads, _ = openOutput(s.at, 0) // nil is dropped below
		}
		err = s.reads.each(checkName)
		if err == nil && !s.unused {
			err = s.reads.each(checkUnused)
		}
		if err == nil {
			return s.at, s.reads, os.Symlink(s.at, d.filePath(outputLink))
		}
		s.reads.close()
		_ = dropOutput(s.at) // the next agent tries again
	}
	at = o.newName("output")
	if err := os.Symlink(at, d.filePath(outputLink)); err != nil {
		return "", nil, err
	}
	reads, err = openOutput(at, os.O_CREATE)
	return at, reads, err
}

// openOutput opens the files of an output to read and to empty them, and makes them if flag says so.
func openOutput(at string, flag int) (*outputReads, error) {
	var out outputReads
	for i, name := range outputs {
		var err error
		if out[i], err = openOwn(at+"."+name, flag|os.O_RDWR); err != nil {
			out.close()
			return nil, err
		}
	}
	return &out, nil
}

// removeOutput removes the files of a container's output, or keeps them for another.
func (o *onDisk) removeOutput(d dir, h *held) error {
	at := h.output
	if at == "" {
		return nil
	}
	if o == nil {
		return dropOutput(at)
	}
	err := unix.Unlink(d.filePath(outputLink)) // see removeFiles
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", d.filePath(outputLink), err)
	}
	reads := h.reads
	if h.reads = nil; reads == nil {
		reads, _ = openOutput(at, 0) // without them there is nothing to keep
	}
	if reads.each(emptyFile) == nil && o.keepOutput(at, reads) {
		return nil
	}
	reads.close()
	return dropOutput(at)
}

// keepOutput keeps the files of an output for another task. That another process may have them open
// is looked at again before they are used: one that is about to close them is none.
func (o *onDisk) keepOutput(at string, reads *outputReads) bool {
	unused := reads.each(checkUnused) == nil
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.outputs) >= sparesMost {
		return false
	}
	if len(o.outputs) >= openMost {
		reads.close()
		reads, unused = nil, false
	}
	o.outputs = append(o.outputs, spareOutput{at: at, reads: reads, unused: unused})
	return true
}

var errNoOutput = errors.New("the files of the output are not there")

// each does something with both files.
func (r *outputReads) each(do func(*os.File) error) error {
	if r == nil {
		return errNoOutput
	}
	for _, f := range r {
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
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

// emptyFile makes a file what a new one is, unless it has lost its name. That of an isolated task is its
// user's.
func emptyFile(f *os.File) error {
	st, err := statNamed(f)
	if err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		if err := f.Chown(os.Geteuid(), os.Getegid()); err != nil {
			return err
		}
	}
	if err := checkAttributes(f); err != nil {
		return err
	}
	if st.Mode != unix.S_IFREG|0o600 {
		if err := unix.Fchmod(int(f.Fd()), 0o600); err != nil {
			return err
		}
	}
	return truncate(f, st.Size)
}

var errRenamed = errors.New("a file of an output has no name, or more than one")

// checkName refuses a file that was removed: the task's output is opened by its name.
func checkName(f *os.File) error {
	_, err := statNamed(f)
	return err
}

func statNamed(f *os.File) (st unix.Stat_t, err error) {
	if err = unix.Fstat(int(f.Fd()), &st); err == nil && st.Nlink != 1 {
		err = errRenamed
	}
	return st, err
}

// truncate changes nothing about an empty file. ext4 writes to the medium, when it is closed for the first time
// since, what is in a file that was emptied: that is here, while nothing is in it, and not with the output
// of the next task.
func truncate(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	again, err := openOwn(f.Name(), os.O_WRONLY)
	if err != nil {
		return err
	}
	return again.Close()
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
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	return truncate(f, st.Size) // a process that was left wrote until it ended
}
