package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/det-deploy/det-deploy/agent/container"
)

// checkSpec returns errors that the engine would only return on creating the container, after
// pulling an image of many gigabytes.
func (r *Runtime) checkSpec(s container.Spec) error {
	if _, err := r.createOptions(s); err != nil {
		return err
	}
	if !strings.HasPrefix(r.api.DaemonHost(), "unix://") {
		return nil // the engine uses another machine's files
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

// isMissing reports whether a path does not exist. Other errors are ignored, because the engine may
// have access.
func isMissing(p string) bool {
	_, err := os.Stat(p)
	return errors.Is(err, fs.ErrNotExist)
}
