package rootfs

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// steps are system calls that are carried out one after the other, by a thread or by a
// process that was forked and may do nothing else.
type steps struct {
	list []step
	// keep has what the arguments point to, unless another process will have it in its memory.
	keep  []any
	there *memory
	err   error
}

// step is one system call. What it may return without failing is at least least.
type step struct {
	number   uintptr
	args     [6]uintptr
	least    uintptr
	optional bool
	kind     kind
	// line is the buffer of writeID and readLine.
	line *[lineRoom]byte
	// what says for people what it does.
	what string
}

// kind says what is special about a step of a new process.
type kind uint8

const (
	// try is an attempt to become a program, which may fail.
	try kind = iota + 1
	// script follows an attempt at a file that is no program.
	script
	// writeID writes the process's own id, which it puts in its buffer first.
	writeID
	// toOpened is for the file that the step before has opened.
	toOpened
	// readLine makes what a call has put in its buffer a line, which writeLine writes.
	readLine
	writeLine
)

func (s *steps) add(what string, number uintptr, args ...uintptr) {
	c := step{number: number, what: what}
	copy(c.args[:], args)
	s.list = append(s.list, c)
}

func (s *steps) last() *step { return &s.list[len(s.list)-1] }

// text is a C string that lives as long as the steps.
func (s *steps) text(t string) uintptr {
	p, err := unix.BytePtrFromString(t)
	if err != nil {
		s.err = fmt.Errorf("path %q: %w", t, err)
		return 0
	}
	if s.there != nil {
		return s.there.putText(t)
	}
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(p))
}

// texts is a list of C strings that ends, and lives as long as the steps.
func (s *steps) texts(list []string) uintptr {
	p, err := syscall.SlicePtrFromStrings(list)
	if err != nil { // without the texts, which may be secrets
		s.err = fmt.Errorf("an argument or a variable has a byte that is zero: %w", err)
		return 0
	}
	if s.there != nil {
		return s.there.putTexts(list)
	}
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(&p[0]))
}

// addWriteID has a new process write a line with its id.
func (s *steps) addWriteID(fd int) {
	s.add("note the process", unix.SYS_WRITE, uintptr(fd))
	c := s.last()
	c.kind, c.line, c.least = writeID, new([lineRoom]byte), 2
}

// failed is the error of a failure, and nil without one.
func (s *steps) failed(f failure) error {
	if f.errno == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", s.list[f.step].what, syscall.Errno(f.errno))
}

// cwd is what paths are relative to.
const cwd = ^uintptr(99) // AT_FDCWD, -100

func (s *steps) mkdir(path string) {
	s.add("make "+path, unix.SYS_MKDIRAT, cwd, s.text(path), 0o755)
	s.add("open "+path, unix.SYS_FCHMODAT, cwd, s.text(path), 0o755) // whatever the umask
}

func (s *steps) mkfile(path string) {
	s.add("make "+path, unix.SYS_MKNODAT, cwd, s.text(path), unix.S_IFREG|0o644)
}

func (s *steps) symlink(link, path string) {
	s.add("make the link "+path, unix.SYS_SYMLINKAT, s.text(link), cwd, s.text(path))
}

func (s *steps) mount(source, target, fstype string, flags uintptr, options string) {
	s.add("mount "+target, unix.SYS_MOUNT, s.text(source), s.text(target), s.text(fstype), flags, s.text(options))
}

// bind shows the source of a place at target, with what is mounted below it.
func (s *steps) bind(p Place, target string) {
	s.mount(p.Source, target, "", unix.MS_BIND|unix.MS_REC, "")
	if p.Sealed {
		s.mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
	}
	if !p.ReadOnly {
		return
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	s.keep = append(s.keep, attr)
	s.add("make "+target+" read-only, for which Linux 5.12 is needed", unix.SYS_MOUNT_SETATTR,
		cwd, s.text(target), unix.AT_RECURSIVE, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
}

// enter makes a mount the root and removes the former one; that stays, out of reach, where
// it is no mount, as in a chroot.
func (s *steps) enter(root string, canPivot bool) {
	s.add("enter "+root, unix.SYS_CHDIR, s.text(root))
	if canPivot {
		s.add("make "+root+" the root", unix.SYS_PIVOT_ROOT, s.text("."), s.text("."))
		s.add("leave the machine's root", unix.SYS_UMOUNT2, s.text("."), unix.MNT_DETACH)
	} else {
		s.add("make "+root+" the root", unix.SYS_CHROOT, s.text("."))
	}
	s.add("enter the root", unix.SYS_CHDIR, s.text("/"))
}

// run carries the steps out in this thread.
func (s *steps) run() error {
	defer runtime.KeepAlive(s)
	for i := range s.list {
		c := &s.list[i]
		// Not raw: it may wait for a server of files, and nothing else must.
		_, _, errno := syscall.Syscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if errno != 0 && !c.optional {
			return fmt.Errorf("%s: %w", c.what, errno)
		}
	}
	return nil
}

func addressOf(list []uint32) uintptr { return uintptr(unsafe.Pointer(&list[0])) }
