package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Isolated says whether tasks are kept from this machine and from each other: by
// Docker, or by an agent that is root and may make namespaces. Why says what is
// missing.
func (t *Target) Isolated(ctx context.Context) (why string, isolated bool) {
	if t.Runtime(ctx) == "docker" {
		return "", true
	}
	if os.Geteuid() != 0 {
		return "no Docker daemon answers and det-deploy does not run as root", false
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData // for the header's version, there are two
	if err := unix.Capget(&hdr, &caps[0]); err != nil || caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return "no Docker daemon answers and this machine lets root make no namespaces", false
	}
	for _, tool := range []string{"mount", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Sprintf("no Docker daemon answers and there is no %s", tool), false
		}
	}
	return "", true
}
