package agent

import (
	"bytes"
	"os"
)

// bootID is the kernel's own name for this run of it, the same in all of the machine's
// containers; empty where it cannot be read.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(id))
}
