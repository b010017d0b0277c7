package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// UnmapProgram has the kernel take back the pages of the running program's code and
// constants: those that are used come back one by one, from the page cache and without a
// read of the disk, and those that only the start needed do not. It costs a fraction of a
// millisecond.
func UnmapProgram() error {
	all, err := ownConstants()
	if err != nil {
		return fmt.Errorf("unmap the program: %w", err)
	}
	for _, m := range all {
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED)
		if errno != 0 {
			return fmt.Errorf("unmap the program at %x: %w", m.begin, errno)
		}
	}
	return nil
}

// ownConstants are read once: nothing maps a program again.
var ownConstants = sync.OnceValues(func() ([]mapping, error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	return constantMappings(maps, program), nil
})

// mapping is where pages of a file are.
type mapping struct{ begin, end uintptr }

// constantMappings are those of a program, of what proc_pid_smaps(5) describes, that cannot be written and
// never were, so that what they hold is what the file holds. A linker that works when the program is loaded writes
// addresses into constants before it closes them: such pages are the process's own, and gone when they are unmapped.
func constantMappings(smaps []byte, program string) []mapping {
	var all []mapping
	var m mapping
	for line := range bytes.Lines(smaps) {
		fields := bytes.Fields(line)
		switch {
		case len(fields) > 0 && !bytes.HasSuffix(fields[0], []byte(":")):
			m = constantMapping(fields, program)
		case len(fields) != 3 || m == mapping{}:
		case string(fields[0]) == "Anonymous:":
			if string(fields[1]) == "0" {
				all = append(all, m)
			}
			m = mapping{}
		}
	}
	return all
}

// constantMapping is zero for what is not the program's, or can be written. The fields are begin-end, permissions,
// offset, device, inode and path.
func constantMapping(fields [][]byte, program string) mapping {
	if len(fields) != 6 || string(fields[5]) != program || (string(fields[1]) != "r-xp" && string(fields[1]) != "r--p") {
		return mapping{}
	}
	from, to, _ := bytes.Cut(fields[0], []byte("-"))
	begin, beginErr := strconv.ParseUint(string(from), 16, 64)
	end, endErr := strconv.ParseUint(string(to), 16, 64)
	if beginErr != nil || endErr != nil {
		return mapping{}
	}
	return mapping{uintptr(begin), uintptr(end)}
}
