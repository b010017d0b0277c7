package clustertest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// SmallDisk mounts a small file system at dir until the test ends.
func SmallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m,mode=0711"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	// Detached, because processes that still use it are killed later.
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// Fill writes to a file until the disk is full.
func Fill(file string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // the error is expected: the disk is full
	for size := 1 << 20; size > 0; size /= 16 {
		for block := make([]byte, size); ; {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
	}
}
