// Package measure measures work in processor time, which depends less than elapsed time on other
// processes of a busy machine, and detects work whose unit cost grows with its amount.
package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Processor returns the user and system time of this process.
func Processor() time.Duration { return used(syscall.RUSAGE_SELF) }

// ProcessorOfChildren returns that of reaped children and their descendants.
func ProcessorOfChildren() time.Duration { return used(syscall.RUSAGE_CHILDREN) }

func used(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0 // it fails only for an invalid argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ProcessorOf returns the processor time of another process and of its reaped children, to 10 ms,
// the tick of the kernel. Both are zero if there is no such process.
func ProcessorOf(pid int) (own, children time.Duration) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, behind, _ := strings.Cut(string(text), ") ") // a name may contain spaces; ours contain no bracket
	const user, tick = 11, 10 * time.Millisecond
	var ticks [4]time.Duration // user and system time of the process, then of its children
	for i, field := range strings.Fields(behind) {
		if i >= user && i < user+len(ticks) {
			n, _ := strconv.Atoi(field)
			ticks[i-user] = time.Duration(n) * tick
		}
	}
	return ticks[0] + ticks[1], ticks[2] + ticks[3]
}
