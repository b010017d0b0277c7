package agent

import (
	"bytes"
	"os"
)

// bootID returns the kernel's random boot ID, which is the same in all containers of the machine.
// It is empty if it cannot be read.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(id))
}
