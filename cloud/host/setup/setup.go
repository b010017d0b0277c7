// Package setup makes this machine a master or an agent of a cluster in the
// cloud: it puts the program and its units in place and starts the unit that continues
// from there. Done twice it changes nothing.
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

// Where things stand on the machine.
const (
	home = "/var/lib/det-deploy"
	// Program is what the units run: a link to what is current, so that another
	// version is one link that moves.
	Program = "/usr/local/bin/det-deploy"
	current = home + "/current"
	units   = "/etc/systemd/system/"
)

// File is one file to write.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode
}

// Machine is what is to be put in place.
type Machine struct {
	// Self is the file of the program that runs.
	Self string
	// Files are units and configurations, Dirs what has to exist.
	Files []File
	Dirs  []string
	// Enable is the units that every boot starts, and that are started now.
	Enable []string
	// Root is put before every path, for tests; empty otherwise.
	Root string
	// Systemctl runs systemctl.
	Systemctl func(ctx context.Context, args ...string) error
}

// Step is one thing to do.
type Step struct {
	// What says it to a person: "write /etc/systemd/system/x.service".
	What string
	Do   func(context.Context) error
}

// Unit is a unit's file.
func Unit(name string, text []byte) File { return File{Path: units + name, Data: text, Mode: 0o644} }

// Plan says what is to be done, and leaves out what is as it should be.
func (m Machine) Plan() ([]Step, error) {
	steps, err := m.programSteps()
	if err != nil {
		return nil, err
	}
	for _, dir := range m.Dirs {
		if _, err := os.Stat(m.hostPath(dir)); errors.Is(err, fs.ErrNotExist) {
			steps = append(steps, Step{"create " + dir, func(context.Context) error { return os.MkdirAll(m.hostPath(dir), 0o700) }})
		}
	}
	for _, f := range m.Files {
		have, err := os.ReadFile(m.hostPath(f.Path))
		if err == nil && bytes.Equal(have, f.Data) {
			continue
		}
		steps = append(steps, Step{"write " + f.Path, func(context.Context) error {
			return disk.Replace(m.hostPath(f.Path), f.Mode, disk.From(bytes.NewReader(f.Data)))
		}})
	}
	changed := len(steps) > 0
	if changed {
		steps = append(steps, Step{"reload systemd", func(ctx context.Context) error { return m.Systemctl(ctx, "daemon-reload") }})
	}
	for _, unit := range m.Enable {
		steps = append(steps, m.startUnit(unit, changed))
	}
	return steps, nil
}

// startUnit starts a unit now and at every boot, and restarts it when something changed.
func (m Machine) startUnit(unit string, changed bool) Step {
	if !changed {
		return Step{"enable and start " + unit, func(ctx context.Context) error { return m.Systemctl(ctx, "enable", "--now", unit) }}
	}
	return Step{"enable and restart " + unit, func(ctx context.Context) error {
		// An agent that waits for docker, or a network that is slow, is not waited for.
		return errors.Join(m.Systemctl(ctx, "enable", unit), m.Systemctl(ctx, "restart", "--no-block", unit))
	}}
}

// programSteps keeps this program under its hash, as every later version will be,
// and makes it the current one, unless another version is.
func (m Machine) programSteps() ([]Step, error) {
	sum, err := checksum.File(m.Self)
	if err != nil {
		return nil, fmt.Errorf("read this program's file: %w", err)
	}
	dir := home + "/bin/" + sum
	var steps []Step
	if have, err := checksum.File(m.hostPath(dir + "/det-deploy")); err != nil || have != sum {
		steps = append(steps, Step{"keep this program in " + dir, func(context.Context) error {
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
			continue // what is current may be a later version
		}
		steps = append(steps, Step{"link " + path, func(context.Context) error { return disk.Link(m.hostPath(to), m.hostPath(path)) }})
	}
	return steps, nil
}

func (m Machine) hostPath(path string) string { return filepath.Join(m.Root, path) }
