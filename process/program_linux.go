package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// UnmapProgram has the kernel take back the pages of the running program's code and
// constants: those that are used come back one by one, from the page cache and without a
// read of the disk, and those that only the start needed do not. It costs a fraction of a
// millisecond.
func UnmapProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("unmap the program: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("unmap the program: %w", err)
	}
	for _, m := range constantMappings(maps, program) {
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED)
		if errno != 0 {
			return fmt.Errorf("unmap the program at %x: %w", m.begin, errno)
		}
	}
	return nil
}

// mapping is where pages of a file are.
type mapping struct{ begin, end uintptr }

// anywhere is above all addresses of a program that is loaded where its file says. One that
// may be loaded anywhere, as -buildmode=pie makes it, has addresses written into its constants
// before they are closed: what they hold is not what the file holds.
const anywhere = 1 << 32

// constantMappings are those of a program that were never written, so that what they hold is
// what the file holds.
func constantMappings(maps []byte, program string) []mapping {
	var all []mapping
	for line := range bytes.Lines(maps) {
		// begin-end permissions offset device inode path
		fields := bytes.Fields(line)
		if len(fields) != 6 || string(fields[5]) != program || (string(fields[1]) != "r-xp" && string(fields[1]) != "r--p") {
			continue
		}
		from, to, _ := bytes.Cut(fields[0], []byte("-"))
		begin, err := strconv.ParseUint(string(from), 16, 64)
		if err != nil {
			continue
		}
		end, err := strconv.ParseUint(string(to), 16, 64)
		if err == nil && end > begin && (end < anywhere || string(fields[1]) == "r-xp") {
			all = append(all, mapping{uintptr(begin), uintptr(end)})
		}
	}
	return all
}
