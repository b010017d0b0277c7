package booter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// attach gives a machine that runs what the cloud has attached to it since it booted:
// addresses, and disks.
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

// once does something to a machine that runs, until it has succeeded.
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

// answer lets the machine answer at one more address.
func (m *machine) answer(ctx context.Context, address string) error {
	out, err := exec.CommandContext(ctx, "ip", "-n", m.netns, "addr", "replace", address+"/32", "dev", "eth0").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// plug gives the machine a disk: a file of this machine's, shown there under the disk's
// device and serial number. The file is there again for the next machine.
func (m *machine) plug(ctx context.Context, d Disk) error {
	file := filepath.Join(m.lab.Dir, d.ID)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// Sparse, and small: nobody fills it.
	if err := errors.Join(f.Truncate(512<<20), f.Close()); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "losetup", "--find", "--show", file).Output()
	if err != nil {
		return fmt.Errorf("losetup %s: %w", file, err)
	}
	loop := strings.TrimSpace(string(out))
	m.loops = append(m.loops, loop)
	var st unix.Stat_t
	if err := unix.Stat(loop, &st); err != nil {
		return err
	}
	cmd, err := m.command(ctx, "sh", "-c", fmt.Sprintf(
		"rm -f /dev/%[1]s && mknod /dev/%[1]s b %[2]d %[3]d && mkdir -p /sys/block/%[1]s/device && echo %[4]s >/sys/block/%[1]s/device/serial",
		d.Device, unix.Major(st.Rdev), unix.Minor(st.Rdev), d.Serial))
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// unplug gives the disks back.
func (m *machine) unplug(ctx context.Context) error {
	var errs []error
	for _, loop := range m.loops {
		errs = append(errs, exec.CommandContext(ctx, "losetup", "--detach", loop).Run())
	}
	m.loops = nil
	return errors.Join(errs...)
}
