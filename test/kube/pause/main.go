// Command pause is the process of a pod's sandbox: it holds the pod's namespaces, reaps orphaned
// processes, and exits on a signal.
package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

func main() {
	c := make(chan os.Signal, 16)
	signal.Notify(c, unix.SIGINT, unix.SIGTERM, unix.SIGCHLD)
	for s := range c {
		if s != unix.SIGCHLD {
			return
		}
		reap()
	}
}

func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
