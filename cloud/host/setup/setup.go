// Package setup configures the local machine as a master or an agent of a cluster in the cloud: it
// installs the program and its systemd units and starts the unit that takes over. It is idempotent.
package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cloud/host/disk"
	"github.com/det-deploy/det-deploy/internal/checksum"
)

// The paths on a machine.
const (
	home = "/var/lib/det-deploy"
	// Program is the executable of the units. It is a link to the current version, so that an
	// upgrade only replaces one link.
	Program = "/usr/local/bin/det-deploy"
	current = home + "/current"
	units   = "/etc/systemd/system/"
)

// File is a file to write.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode
}

// Machine describes the files and units to install on a machine.
type Machine struct {
	// Self is the path of the running executable.
	Self string
	// Files are units and configuration files. Dirs are directories to create.
	Files []File
	Dirs  []string
	// Enable lists the units to start now and at every boot.
	Enable []string
	// Restart is a unit of the image to restart after a change, if there is one and it runs.
	Restart string
	// Root is prepended to every path in tests. Otherwise it is empty.
	Root string
	// Systemctl runs systemctl.
	Systemctl func(ctx context.Context, args ...string) error
}

// Step is one change to a machine.
type Step struct {
	// What describes the step: "write /etc/systemd/system/x.service".
	What string
	Do   func(context.Context) error
	// Optional reports that the machine works without the step.
	Optional bool
}

// Unit returns the file of a systemd unit.
func Unit(name string, text []byte) File { return File{Path: units + name, Data: text, Mode: 0o644} }

// Plan returns the steps that are still necessary.
func (m Machine) Plan() ([]Step, error) {
	steps, err := m.programSteps()
	if err != nil {
		return nil, err
	}
	for _, dir := range m.Dirs {
		if _, err := os.Stat(m.hostPath(dir)); errors.Is(err, fs.ErrNotExist) {
			steps = append(steps, Step{What: "create " + dir, Do: func(context.Context) error { return os.MkdirAll(m.hostPath(dir), 0o700) }})
		}
	}
	for _, f := range m.Files {
		have, err := os.ReadFile(m.hostPath(f.Path))
		if err == nil && bytes.Equal(have, f.Data) {
			continue
		}
		steps = append(steps, Step{What: "write " + f.Path, Do: func(context.Context) error {
			return disk.Replace(m.hostPath(f.Path), f.Mode, disk.From(bytes.NewReader(f.Data)))
		}})
	}
	changed := len(steps) > 0
	if changed {
		steps = append(steps, Step{What: "reload systemd", Do: func(ctx context.Context) error { return m.Systemctl(ctx, "daemon-reload") }})
	}
	if changed && m.Restart != "" {
		steps = append(steps, Step{What: "restart " + m.Restart, Optional: true, Do: m.restartExisting})
	}
	for _, unit := range m.Enable {
		steps = append(steps, m.startUnit(unit, changed))
	}
	return steps, nil
}

// startUnit enables and starts a unit, and restarts it if something changed.
func (m Machine) startUnit(unit string, changed bool) Step {
	if !changed {
		return Step{What: "enable and start " + unit, Do: func(ctx context.Context) error { return m.Systemctl(ctx, "enable", "--now", unit) }}
	}
	return Step{What: "enable and restart " + unit, Do: func(ctx context.Context) error {
		// --no-block, because the unit may wait for Docker or a slow network.
		return errors.Join(m.Systemctl(ctx, "enable", unit), m.Systemctl(ctx, "restart", "--no-block", unit))
	}}
}

// restartExisting restarts the unit Restart if it exists and runs.
func (m Machine) restartExisting(ctx context.Context) error {
	if m.Systemctl(ctx, "cat", m.Restart) != nil {
		return nil //nolint:nilerr // the image has no such unit
	}
	return m.Systemctl(ctx, "try-restart", m.Restart)
}

// programSteps installs the running program in a directory named by its checksum, as upgrades do,
// and links it as the current version unless another version is current.
func (m Machine) programSteps() ([]Step, error) {
	sum, err := checksum.File(m.Self)
	if err != nil {
		return nil, fmt.Errorf("read this program's file: %w", err)
	}
	dir := home + "/bin/" + sum
	var steps []Step
	if have, err := checksum.File(m.hostPath(dir + "/det-deploy")); err != nil || have != sum {
		steps = append(steps, Step{What: "install this program in " + dir, Do: func(context.Context) error {
			in, err := os.Open(m.Self)
			if err != nil {
				return err
			}
			defer in.Close() //nolint:errcheck // it was only read
			return disk.Replace(m.hostPath(dir+"/det-deploy"), 0o755, disk.From(in))
		}})
	}
	for path, to := range map[string]string{current: dir, Program: current + "/det-deploy"} {
		if have, err := os.Readlink(m.hostPath(path)); err == nil && (path == current || have == m.hostPath(to)) {
			continue // the current version may be a later one
		}
		steps = append(steps, Step{What: "link " + path, Do: func(context.Context) error { return disk.Link(m.hostPath(to), m.hostPath(path)) }})
	}
	return steps, nil
}

func (m Machine) hostPath(path string) string { return filepath.Join(m.Root, path) }
