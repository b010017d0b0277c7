package booter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// attach adds the addresses and disks that the cloud has attached to a running machine since its
// boot.
func (b *Booter) attach(ctx context.Context, m Machine) error {
	var errs []error
	for _, a := range m.Addresses {
		errs = append(errs, b.once(m.ID, a, func(r *running) error { return r.answer(ctx, a) }))
	}
	for _, d := range m.Disks {
		errs = append(errs, b.once(m.ID, d.ID, func(r *running) error { return r.plug(ctx, d) }))
	}
	return errors.Join(errs...)
}

// once attaches something to a running machine, and repeats it until it has succeeded.
func (b *Booter) once(id, what string, do func(*running) error) error {
	r := b.get(id)
	if r == nil || r.dead || r.has[what] {
		return nil
	}
	if _, err := r.init(); err != nil {
		return nil //nolint:nilerr // it has not started yet
	}
	if err := do(r); err != nil {
		return fmt.Errorf("give %s %s: %w", id, what, err)
	}
	r.has[what] = true
	return nil
}

// answer adds an address to the machine.
func (m *machine) answer(ctx context.Context, address string) error {
	out, err := exec.CommandContext(ctx, "ip", "-n", m.netns, "addr", "replace", address+"/32", "dev", "eth0").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// DiskFile returns the file with the content of a disk. A test may write it before the disk is
// attached.
func (l *Lab) DiskFile(id string) string { return filepath.Join(l.Dir, id+".disk") }

// diskSize is the size of every disk. Its file is sparse.
const diskSize = 512 << 20

// plug attaches a disk: a file on the host, which appears in the machine under the disk's device
// name and serial number, with its partitions. The file is kept for the next machine.
func (m *machine) plug(ctx context.Context, d Disk) error {
	file := m.lab.DiskFile(d.ID)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(diskSize), f.Close()); err != nil {
		return err
	}
	if err := m.plugPart(ctx, d, part{device: d.Device, size: diskSize}); err != nil {
		return err
	}
	for _, p := range readParts(ctx, file, d.Device) {
		if err := m.plugPart(ctx, d, p); err != nil {
			return err
		}
	}
	return m.inside(ctx, fmt.Sprintf("mkdir -p /sys/block/%[1]s/device && echo %[2]s >/sys/block/%[1]s/device/serial", d.Device, d.Serial))
}

// part is a disk, or a partition of it with its suffix.
type part struct {
	device, suffix string
	offset, size   int64
}

// readParts returns the partitions of a disk, or none if the disk has no partition table.
func readParts(ctx context.Context, file, device string) []part {
	text, err := exec.CommandContext(ctx, "sfdisk", "--json", file).Output()
	var read struct {
		Table struct {
			SectorSize int64 `json:"sectorsize"`
			Partitions []struct{ Start, Size int64 }
		} `json:"partitiontable"`
	}
	if err != nil || json.Unmarshal(text, &read) != nil {
		return nil
	}
	if last := device[len(device)-1]; last >= '0' && last <= '9' {
		device += "p" // nvme0n2p1
	}
	var out []part
	for i, p := range read.Table.Partitions {
		n, sector := strconv.Itoa(i+1), cmp.Or(read.Table.SectorSize, 512)
		out = append(out, part{device: device + n, suffix: "-part" + n, offset: p.Start * sector, size: p.Size * sector})
	}
	return out
}

// plugPart attaches a part of a disk's file to the machine, with its links.
func (m *machine) plugPart(ctx context.Context, d Disk, p part) error {
	args := []string{"--find", "--show", "--offset", strconv.FormatInt(p.offset, 10), "--sizelimit", strconv.FormatInt(p.size, 10)}
	if d.ReadOnly {
		args = append(args, "--read-only")
	}
	file := m.lab.DiskFile(d.ID)
	out, err := exec.CommandContext(ctx, "losetup", append(args, file)...).Output()
	if err != nil {
		return fmt.Errorf("losetup %s: %w", file, err)
	}
	loop := strings.TrimSpace(string(out))
	m.loops = append(m.loops, loop)
	var st unix.Stat_t
	if err := unix.Stat(loop, &st); err != nil {
		return err
	}
	script := fmt.Sprintf("rm -f /dev/%[1]s && mknod /dev/%[1]s b %[2]d %[3]d", p.device, unix.Major(st.Rdev), unix.Minor(st.Rdev))
	for _, link := range d.Links {
		path := "/dev/" + link + p.suffix
		script += fmt.Sprintf(" && mkdir -p %s && ln -sf /dev/%s %s", filepath.Dir(path), p.device, path)
	}
	return m.inside(ctx, script)
}

// inside runs a script in the machine.
func (m *machine) inside(ctx context.Context, script string) error {
	cmd, err := m.command(ctx, "sh", "-c", script)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// unplug detaches the disks from the host.
func (m *machine) unplug(ctx context.Context) error {
	var errs []error
	for _, loop := range m.loops {
		errs = append(errs, exec.CommandContext(ctx, "losetup", "--detach", loop).Run())
	}
	m.loops = nil
	return errors.Join(errs...)
}
