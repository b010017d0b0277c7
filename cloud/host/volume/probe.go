package volume

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// probeDisk returns the type of the file system, partition table or other signature that blkid
// finds on a disk. It returns "" if blkid finds none.
func probeDisk(ctx context.Context, disk string) (kind string, err error) {
	out, err := exec.CommandContext(ctx, "blkid", "-p", "-o", "export", disk).Output() //nolint:gosec // a disk of the machine
	// blkid exits with 2 if it finds no signature, and with 8 if it finds conflicting ones.
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		switch e.ExitCode() {
		case 2:
			return "", nil
		case 8:
			return "conflicting signatures", nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("run blkid -p %s: %w", disk, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[name] = value
	}
	switch {
	case found["TYPE"] != "":
		return found["TYPE"], nil
	case found["PTTYPE"] != "":
		return "a partition table (" + found["PTTYPE"] + ")", nil
	}
	return "unknown data", nil
}

// margin is the number of bytes at each end of a disk that must be zero for the disk to count as
// blank. All known signatures are within the first or last MiB.
const margin = 1 << 20

// checkBlank returns an error unless both margins of a disk are zero. It detects data that blkid
// does not recognize.
func checkBlank(disk string) error {
	f, err := os.Open(disk)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	piece := make([]byte, min(margin, size))
	for _, at := range []int64{0, size - int64(len(piece))} {
		if _, err := f.ReadAt(piece, at); err != nil {
			return fmt.Errorf("read %s: %w", disk, err)
		}
		for i, b := range piece {
			if b != 0 {
				return fmt.Errorf("%s is not blank: it contains unknown data at byte %d", disk, at+int64(i))
			}
		}
	}
	return nil
}

// mountedAt returns the device mounted at a path.
func mountedAt(at string) (from string, mounted bool, err error) {
	at, err = filepath.Abs(at)
	if err != nil {
		return "", false, err
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", false, fmt.Errorf("list mounts: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	for scan := bufio.NewScanner(f); scan.Scan(); {
		left, right, _ := strings.Cut(scan.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) > 4 && len(r) > 1 && l[4] == at { // a later mount covers earlier ones
			from, mounted = r[1], true
		}
	}
	return from, mounted, nil
}

// mountDisk mounts a data disk without setuid programs and device files.
func mountDisk(disk, at, kind string) error {
	return unix.Mount(disk, at, kind, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, "")
}
