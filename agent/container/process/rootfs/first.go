package rootfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// firstCode is where firstProcess begins: the program that is the first of a process namespace. It
// is a few hundred bytes, and so small that to start it takes a fraction of what a shell takes.
//
// It has the locked status file as 3, as 4 a list of system calls (see Order), which its only
// child carries out, and as 5 what these need: the last of them makes that child the task's program. The first process itself
// never reads the list. When the child has ended it writes the code to the status file and ends, and
// with it all that is left in the namespace. It has no handlers, and the kernel keeps from the first of a
// namespace what it does not handle.
//
// What it needs of memory is at fixed places: its code, the tables behind it, and in the
// child the list.
func firstCode() uintptr

// firstMark are the last bytes of the program.
const firstMark = 0x0d37d37d

const (
	firstBase   = 0x400000
	firstEntry  = 0x100
	firstTables = 0x10000
	// firstMost is far more than the code has.
	firstMost = 4096
	// endLine is the room of a line with a code, and errorLine of one with what went wrong; the last
	// byte of each is how long it is.
	endLine   = 8
	errorLine = 64
	// errorsLast is the greatest error that Linux knows, and endsMost how many codes there are.
	errorsLast = 133
	endsMost   = 256
)

// NewFirst makes a file of the program, which is executed by its descriptor: no path leads to it,
// and no library is loaded. It is 8 or above.
func NewFirst() (*os.File, error) {
	text, err := firstText()
	if err != nil {
		return nil, err
	}
	f, err := memoryProgram()
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt(append(firstImage(), text...), 0)
	if err == nil {
		_, err = f.WriteAt(tablesOfFirst(), firstTables)
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the first program of tasks: %w", err), f.Close())
	}
	return f, nil
}

// memoryProgram is an empty file without a name that may be executed.
func memoryProgram() (*os.File, error) {
	const name = "det-deploy-task"
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all may be executed
		fd, err = unix.MemfdCreate(name, flags)
	}
	if errors.Is(err, unix.EACCES) {
		return nil, errors.New("the machine lets no program be made in memory: set the sysctl vm.memfd_noexec to 0 or 1")
	}
	if err != nil {
		return nil, fmt.Errorf("make a program in memory: %w", err)
	}
	return Above(os.NewFile(uintptr(fd), name))
}

// descriptorsOfFirst is how many descriptors a first process begins with at most.
const descriptorsOfFirst = 8

// Above moves a file to a descriptor that no file of a first process has there: none is lost while they
// are put in their places. The file is closed also when that fails.
func Above(f *os.File) (*os.File, error) {
	if f.Fd() >= descriptorsOfFirst {
		return f, nil
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, descriptorsOfFirst)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// firstText is a copy of the code.
func firstText() ([]byte, error) {
	code := unsafe.Slice((*byte)(codeAt(firstCode())), firstMost)
	for i := range firstMost - 4 {
		if binary.LittleEndian.Uint32(code[i:]) == firstMark {
			return append([]byte(nil), code[:i]...), nil
		}
	}
	return nil, errors.New("the first program of tasks has no end")
}

// codeAt is a place in this program's own code, which does not move.
func codeAt(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// firstImage is what comes before the code: an ELF header, one segment, and that the stack is no
// code.
func firstImage() []byte {
	machine := uint16(62) // EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = 183 // EM_AARCH64
	}
	const header, entry = 64, 56
	le := binary.LittleEndian
	b := append([]byte("\x7fELF"), 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, v := range []uint16{2, machine, 1, 0} { // ET_EXEC; the version is 32 bits
		b = le.AppendUint16(b, v)
	}
	for _, v := range []uint64{firstBase + firstEntry, header, 0} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{header, entry, 2, 64, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	const load, stack, execute, write, read = 1, 0x6474e551, 1, 2, 4
	size := uint64(firstTables + len(tablesOfFirst()))
	b = le.AppendUint32(le.AppendUint32(b, load), read|execute)
	for _, v := range []uint64{0, firstBase, firstBase, size, size, 0x10000} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(le.AppendUint32(b, stack), read|write)
	b = append(b, make([]byte, firstEntry-len(b))...)
	return b
}

// tablesOfFirst are the lines that the program writes.
func tablesOfFirst() []byte {
	out := make([]byte, endsMost*endLine+(errorsLast+1)*errorLine)
	for i := range endsMost {
		putText(out[i*endLine:(i+1)*endLine], strconv.Itoa(i)+"\n")
	}
	for i := range errorsLast + 1 {
		at := endsMost*endLine + i*errorLine
		text := syscall.Errno(i).Error()
		if i == 0 {
			text = "an unknown error"
		}
		putText(out[at:at+errorLine], text+"\n")
	}
	return out
}

func putText(line []byte, text string) { line[len(line)-1] = byte(copy(line[:len(line)-1], text)) }
