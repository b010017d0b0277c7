// Package volume puts the master's data volume in place: it finds the disk that
// is the volume by its id or name, formats it only when it is blank, lets the file
// system grow with it, and mounts it. A disk that holds anything is never
// written to other than by mounting it.
package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// Patience is how long a volume may take to be attached: the installer attaches
// it once the machine runs, and may have been interrupted meanwhile.
const Patience = 15 * time.Minute

// Label marks a file system as made here.
const Label = "det-deploy-data"

// Volume is one data volume and its place.
type Volume struct {
	// ID is the platform's: "vol-0123…". Disks with NVMe carry it as their
	// serial number.
	ID string
	// Device is the name under which it is attached, "/dev/sdf", which on types
	// with Xen is all there is to know it by. It may be empty.
	Device string
	// Name is the name that it is attached under on platforms where the machine knows it by
	// that: "det-data" on Google's. ID and Device are empty then.
	Name string
	// At is where it is mounted.
	At string
	// Sys is /sys and Dev /dev, for tests; empty otherwise.
	Sys, Dev string
	Log      *slog.Logger
}

// Mount puts the volume in place. Done twice it changes nothing.
func (v Volume) Mount(ctx context.Context) error {
	disk, err := v.awaitDisk(ctx)
	if err != nil {
		return err
	}
	if from, mounted, err := mountedAt(v.At); err != nil || mounted {
		if err == nil && from != disk {
			err = fmt.Errorf("mount volume %s: %s is mounted at %s already", v.title(), from, v.At)
		}
		return err
	}
	kind, err := v.fileSystem(ctx, disk)
	if err != nil {
		return err
	}
	if kind == "ext4" {
		v.logGrowError(v.growFilesystem(ctx, disk))
	}
	if err := os.MkdirAll(v.At, 0o700); err != nil {
		return fmt.Errorf("mount volume %s: %w", v.title(), err)
	}
	if err := mountDisk(disk, v.At, kind); err != nil {
		return fmt.Errorf("mount volume %s (%s, %s) at %s: %w", v.title(), disk, kind, v.At, err)
	}
	if kind == "xfs" { // it grows while it is in use, and not otherwise
		v.logGrowError(runTool(ctx, "xfs_growfs", v.At))
	}
	v.Log.Info("the data volume is mounted", "volume", v.title(), "disk", disk, "file_system", kind, "at", v.At)
	return nil
}

// awaitDisk finds the volume's disk, as soon as it is attached.
func (v Volume) awaitDisk(ctx context.Context) (disk string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	said := false
	for {
		disk, found, err := v.findDisk()
		if err != nil || found {
			return disk, err
		}
		if !said {
			v.Log.Info("waiting for the data volume to be attached", "volume", v.title())
			said = true
		}
		if wait.For(ctx, time.Second) != nil {
			return "", fmt.Errorf("find volume %s: no disk carries its id after %s: is it attached to this machine?", v.title(), Patience)
		}
	}
}

// findDisk looks through the machine's disks.
func (v Volume) findDisk() (disk string, found bool, err error) {
	if v.Name != "" {
		return v.findNamed()
	}
	return v.findSerial()
}

// findSerial looks for the volume's ID among the serial numbers of the disks.
func (v Volume) findSerial() (disk string, found bool, err error) {
	blocks := filepath.Join(v.sysDir(), "block")
	entries, err := os.ReadDir(blocks)
	if err != nil {
		return "", false, fmt.Errorf("find volume %s: %w", v.title(), err)
	}
	serial := strings.ReplaceAll(v.ID, "-", "")
	xen := map[string]bool{}
	for _, e := range entries {
		have, err := os.ReadFile(filepath.Join(blocks, e.Name(), "device", "serial"))
		switch {
		case err == nil && strings.TrimSpace(string(have)) == serial:
			return "/dev/" + e.Name(), true, nil
		case strings.HasPrefix(e.Name(), "xvd"):
			xen[e.Name()] = true
		}
	}
	// Xen calls /dev/sdf xvdf. A disk that has a serial number is not meant.
	name := strings.Replace(filepath.Base(v.Device), "sd", "xvd", 1)
	if v.Device != "" && xen[name] {
		return "/dev/" + name, true, nil
	}
	return "", false, nil
}

func (v Volume) sysDir() string { return cmp.Or(v.Sys, "/sys") }
func (v Volume) devDir() string { return cmp.Or(v.Dev, "/dev") }

// title is what messages call it.
func (v Volume) title() string { return cmp.Or(v.ID, v.Name) }

// fileSystem says what the disk holds, after making one if it holds nothing.
func (v Volume) fileSystem(ctx context.Context, disk string) (kind string, err error) {
	kind, err = probeDisk(ctx, disk)
	if err != nil {
		return "", fmt.Errorf("look at volume %s: %w", v.title(), err)
	}
	switch kind {
	case "ext4", "xfs":
		return kind, nil
	case "":
	default:
		return "", fmt.Errorf("mount volume %s: %s holds %s, not ext4 or xfs; it is left as it is", v.title(), disk, kind)
	}
	if err := checkBlank(disk); err != nil {
		return "", fmt.Errorf("format volume %s: %w; it is left as it is", v.title(), err)
	}
	v.Log.Info("formatting the blank data volume", "volume", v.title(), "disk", disk)
	if _, err := exec.LookPath("mkfs.ext4"); err == nil {
		return "ext4", runTool(ctx, "mkfs.ext4", "-q", "-F", "-L", Label, "-m", "0", disk)
	}
	// xfs takes 12 characters.
	return "xfs", runTool(ctx, "mkfs.xfs", "-q", "-L", "det-data", disk)
}

// runTool runs one of the system's tools.
func runTool(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // the arguments are a disk's and ours
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("run %s: this machine's image lacks it", name)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", strings.Join(append([]string{name}, args...), " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
