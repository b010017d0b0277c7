// Package volume mounts the master's data volume: it finds the disk by volume ID or device name,
// formats it only if it is blank, grows the file system to the size of the disk, and mounts it. It
// never formats a disk that contains data.
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

// Patience is the time to wait for a volume to be attached. The installer attaches it after the
// machine has started, and may be interrupted in between.
const Patience = 15 * time.Minute

// Label is the label of file systems that this package creates.
const Label = "det-deploy-data"

// Volume is a data volume and its mount point.
type Volume struct {
	// ID is the EBS volume ID: "vol-0123…". NVMe disks have it as their serial number.
	ID string
	// Device is the device name of the attachment, "/dev/sdf". It is the only identification on Xen
	// instance types. It may be empty.
	Device string
	// Name is the device name of the attachment on Google Cloud, "det-data", which the machine can
	// read from the disk. ID and Device are empty then.
	Name string
	// At is the mount point.
	At string
	// Sys and Dev replace /sys and /dev in tests. Otherwise they are empty.
	Sys, Dev string
	Log      *slog.Logger
}

// Mount waits for the volume, prepares and mounts it. It is idempotent.
func (v Volume) Mount(ctx context.Context) error {
	disk, err := v.awaitDisk(ctx)
	if err != nil {
		return err
	}
	if from, mounted, err := mountedAt(v.At); err != nil || mounted {
		if err == nil && from != disk {
			err = fmt.Errorf("mount volume %s: %s is already mounted at %s", v.title(), from, v.At)
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
	if kind == "xfs" { // xfs grows only while mounted
		v.logGrowError(runTool(ctx, "xfs_growfs", v.At))
	}
	v.Log.Info("the data volume is mounted", "volume", v.title(), "disk", disk, "file_system", kind, "at", v.At)
	return nil
}

// awaitDisk waits until the volume is attached and returns its disk.
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
			return "", fmt.Errorf("find volume %s: no disk has its ID after %s; is it attached to this machine?", v.title(), Patience)
		}
	}
}

// findDisk finds the volume among the machine's disks.
func (v Volume) findDisk() (disk string, found bool, err error) {
	if v.Name != "" {
		return v.findNamed()
	}
	return v.findSerial()
}

// findSerial finds the disk whose serial number is the volume ID.
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
	// Xen names /dev/sdf xvdf. Disks with a serial number are excluded.
	name := strings.Replace(filepath.Base(v.Device), "sd", "xvd", 1)
	if v.Device != "" && xen[name] {
		return "/dev/" + name, true, nil
	}
	return "", false, nil
}

func (v Volume) sysDir() string { return cmp.Or(v.Sys, "/sys") }
func (v Volume) devDir() string { return cmp.Or(v.Dev, "/dev") }

// title returns the name of the volume for messages.
func (v Volume) title() string { return cmp.Or(v.ID, v.Name) }

// fileSystem returns the type of the disk's file system. It creates one if the disk is blank.
func (v Volume) fileSystem(ctx context.Context, disk string) (kind string, err error) {
	kind, err = probeDisk(ctx, disk)
	if err != nil {
		return "", fmt.Errorf("probe volume %s: %w", v.title(), err)
	}
	switch kind {
	case "ext4", "xfs":
		return kind, nil
	case "":
	default:
		return "", fmt.Errorf("mount volume %s: %s contains %s, not ext4 or xfs; it was not changed", v.title(), disk, kind)
	}
	if err := checkBlank(disk); err != nil {
		return "", fmt.Errorf("format volume %s: %w; it was not changed", v.title(), err)
	}
	v.Log.Info("formatting the blank data volume", "volume", v.title(), "disk", disk)
	if _, err := exec.LookPath("mkfs.ext4"); err == nil {
		return "ext4", runTool(ctx, "mkfs.ext4", "-q", "-F", "-L", Label, "-m", "0", disk)
	}
	// xfs labels have at most 12 characters.
	return "xfs", runTool(ctx, "mkfs.xfs", "-q", "-L", "det-data", disk)
}

// runTool runs a system program. Its error includes the output.
func runTool(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // the arguments are a disk's and ours
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("run %s: not installed in this machine's image", name)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", strings.Join(append([]string{name}, args...), " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
