package process

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// watchSlack is by how much the runtime's watch may wake up late, in nanoseconds. It sleeps for 20 µs while
// threads go in and out of system calls, which Linux makes 70 of by itself.
const watchSlack = 500_000

// SlowWatch has the thread that watches over all others of this program wake up some 2,000 times a second
// instead of 14,000. It takes the place in the scheduler of a thread that stays in a system call for
// another, and wakes up as often as it can while there are such: in a program that makes many short ones
// this is up to a fifth of the processor time. Only root may set it for a thread that is not
// the caller's.
func SlowWatch() error {
	threads, err := os.Open("/proc/self/task")
	if err != nil {
		return err
	}
	defer func() { _ = threads.Close() }()
	// They are listed as they were made: the first one, and then the watch, which the runtime makes
	// before anything of the program runs. Neither ever ends.
	ids, err := threads.Readdirnames(2)
	if err != nil {
		return err
	}
	if len(ids) < 2 || ids[0] != strconv.Itoa(os.Getpid()) {
		return errors.New("the threads of this process are not listed as they were made")
	}
	return os.WriteFile(filepath.Join("/proc", ids[1], "timerslack_ns"), []byte(strconv.Itoa(watchSlack)), 0)
}
