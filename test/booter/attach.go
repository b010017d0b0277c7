package booter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sys/unix"
)

// attach gives machines that run what the cloud has attached to them since: a
// static address, and disks.
func (b *Booter) attach(ctx context.Context) error {
	addresses, err := b.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range addresses.Addresses {
		errs = append(errs, b.once(aws.ToString(a.InstanceId), aws.ToString(a.PublicIp), func(r *running) error {
			return r.answer(ctx, *a.PublicIp)
		}))
	}
	disks, err := b.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	if err != nil {
		return err
	}
	for _, v := range disks.Volumes {
		for _, a := range v.Attachments {
			if strings.HasPrefix(aws.ToString(a.Device), "/dev/sda") || strings.HasPrefix(aws.ToString(a.Device), "/dev/xvda") {
				continue // a machine's own
			}
			errs = append(errs, b.once(aws.ToString(a.InstanceId), *v.VolumeId, func(r *running) error { return r.plug(ctx, v) }))
		}
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

// plug gives the machine a disk: a file of this machine's, shown there as
// Amazon shows a volume, with its id as the serial number. The file is the
// volume's, and is there again for the next machine.
func (m *machine) plug(ctx context.Context, v types.Volume) error {
	file := filepath.Join(m.lab.Dir, *v.VolumeId)
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
		"rm -f /dev/nvme1n1 && mknod /dev/nvme1n1 b %d %d && mkdir -p /sys/block/nvme1n1/device && echo %s >/sys/block/nvme1n1/device/serial",
		unix.Major(st.Rdev), unix.Minor(st.Rdev), strings.ReplaceAll(*v.VolumeId, "-", "")))
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
