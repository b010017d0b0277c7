package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/det-deploy/det-deploy/agent/container"
)

// wrapRefusal finds what the engine would refuse only when it makes the container: after an
// image of many gigabytes was pulled in vain.
func (r *Runtime) wrapRefusal(s container.Spec) error {
	if _, err := r.createOptions(s); err != nil {
		return err
	}
	if !strings.HasPrefix(r.api.DaemonHost(), "unix://") {
		return nil // the engine sees another machine's files
	}
	for _, m := range s.Mounts {
		if isMissing(m.HostPath) {
			return fmt.Errorf("bind mount %s: %s does not exist on this machine", m.ContainerPath, m.HostPath)
		}
	}
	for _, d := range s.Devices {
		if isMissing(d.HostPath) {
			return fmt.Errorf("device %s: does not exist on this machine", d.HostPath)
		}
	}
	return nil
}

// isMissing is true only where a path does not exist: the engine may see more than this agent.
func isMissing(p string) bool {
	_, err := os.Stat(p)
	return errors.Is(err, fs.ErrNotExist)
}
