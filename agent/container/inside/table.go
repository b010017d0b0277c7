package inside

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Proc is one entry of the process table.
type Proc struct{ PID, Parent, Session int }

// Processes returns the processes of the machine that are no zombies.
func Processes() []Proc {
	var out []Proc
	for _, pid := range ProcessIDs() {
		if p, ok := ReadProcess(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// ProcessIDs returns the IDs of all processes, including zombies.
func ProcessIDs() []int {
	f, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil
	}
	out := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// ReadProcess reads the entry of a running process.
func ReadProcess(pid int) (Proc, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Proc{}, false
	}
	return parseStat(pid, string(stat))
}

// parseStat parses parent and session, after the name in parentheses, which may contain any
// character.
func parseStat(pid int, stat string) (Proc, bool) {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return Proc{}, false
	}
	fields := strings.Fields(stat[i+1:])
	if len(fields) < 4 || fields[0] == "Z" {
		return Proc{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	return Proc{PID: pid, Parent: parent, Session: session}, err1 == nil && err2 == nil
}

// StartTime returns the time since boot at which a process was started, in the kernel's unit. A process
// is the same as before if its ID and this time are.
func StartTime(pid int) (string, error) {
	const field = 19 // after the name
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= field {
		return "", fmt.Errorf("process %d has no start time", pid)
	}
	return fields[field], nil
}
