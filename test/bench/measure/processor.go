// Package measure measures work in processor time, which other processes on a busy machine change less
// than the clock's, and finds work that costs more the more of it there is.
package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Processor is the processor time that this process has taken, in user and in kernel mode.
func Processor() time.Duration { return used(syscall.RUSAGE_SELF) }

// ProcessorOfChildren is that of the processes that this one has waited for, and of theirs.
func ProcessorOfChildren() time.Duration { return used(syscall.RUSAGE_CHILDREN) }

func used(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0 // it fails only for another who
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ProcessorOf is the processor time of another process and of what it has waited for, to 10 ms, the kernel's
// tick. Both are zero when there is no such process.
func ProcessorOf(pid int) (own, children time.Duration) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, behind, _ := strings.Cut(string(text), ") ") // a name may hold spaces; ours hold no bracket
	const user, tick = 11, 10 * time.Millisecond
	var ticks [4]time.Duration // own in user and kernel mode, then its children's
	for i, field := range strings.Fields(behind) {
		if i >= user && i < user+len(ticks) {
			n, _ := strconv.Atoi(field)
			ticks[i-user] = time.Duration(n) * tick
		}
	}
	return ticks[0] + ticks[1], ticks[2] + ticks[3]
}
