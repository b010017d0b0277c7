package volume_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/cloud/host/volume"
)

const id = "vol-0123456789abcdef0"

// disk is a loop device with a fake serial number.
type disk struct {
	t         *testing.T
	file, dev string
	sys       string
}

func newDisk(t *testing.T, serial string) *disk {
	t.Helper()
	needs(t)
	d := &disk{t: t, file: filepath.Join(t.TempDir(), "disk"), sys: t.TempDir()}
	if err := os.WriteFile(d.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.size(32 << 20)
	d.dev = strings.TrimSpace(d.run("losetup", "--find", "--show", d.file))
	t.Cleanup(func() { d.run("losetup", "--detach", d.dev) })
	at := filepath.Join(d.sys, "block", filepath.Base(d.dev), "device")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "serial"), []byte(serial+"  \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// needs skips the test if loop devices or the required programs are not available.
func needs(t *testing.T) {
	t.Helper()
	why := ""
	for _, tool := range []string{"losetup", "blkid", "mkfs.ext4", "resize2fs"} {
		if _, err := exec.LookPath(tool); err != nil {
			why = "there is no " + tool + ": apt-get install util-linux e2fsprogs"
		}
	}
	if os.Geteuid() != 0 {
		why = "only root may make loop devices: run it with sudo"
	} else if err := exec.CommandContext(t.Context(), "losetup", "--find").Run(); err != nil {
		why = "this kernel has no loop devices to give: run it on a machine or privileged container that has"
	}
	switch {
	case testing.Short():
		t.Skip("makes disks: left out of the fast tests")
	case why != "" && os.Getenv("CI") == "true":
		t.Fatal(why)
	case why != "":
		t.Skip(why)
	}
}

func (d *disk) size(bytes int64) {
	d.t.Helper()
	if err := os.Truncate(d.file, bytes); err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) run(name string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.t.Context()), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %s: %v: %s", name, args, err, out)
	}
	return string(out)
}

// mount mounts the disk as at boot and unmounts it at the end of the test.
func (d *disk) mount(at string) error {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
	defer cancel()
	v := volume.Volume{ID: id, At: at, Sys: d.sys, Log: slog.New(slog.DiscardHandler)}
	err := v.Mount(ctx)
	d.t.Cleanup(func() { _ = unix.Unmount(at, 0) })
	return err
}

func (d *disk) unmount(at string) {
	d.t.Helper()
	if err := unix.Unmount(at, 0); err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) content() []byte {
	d.t.Helper()
	data, err := os.ReadFile(d.file)
	if err != nil {
		d.t.Fatal(err)
	}
	return data
}

// space returns the size of a mounted file system.
func space(t *testing.T, at string) uint64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(at, &s); err != nil {
		t.Fatal(err)
	}
	return s.Blocks * uint64(s.Bsize)
}

func TestMountFormatsBlankVolumeOnceAndGrowsIt(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "vol0123456789abcdef0")
	at := filepath.Join(t.TempDir(), "data")
	if err := d.mount(at); err != nil {
		t.Fatal(err)
	}
	small := space(t, at)
	if err := os.WriteFile(filepath.Join(at, "kept"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.mount(at); err != nil {
		t.Errorf("mounted twice: got %v, want that it is no error", err)
	}
	d.unmount(at)
	d.size(64 << 20)
	d.run("losetup", "--set-capacity", d.dev)
	if err := d.mount(at); err != nil { // the next boot
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(at, "kept")); err != nil || string(got) != "data" {
		t.Errorf("got %q, %v; want the earlier content", got, err)
	}
	if got := space(t, at); got < small*3/2 {
		t.Errorf("got %d bytes after %d, want that it grew with its volume", got, small)
	}
}

// On Google Cloud, a disk is found by its device name at every boot.
func TestMountNamedVolume(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "")
	dev := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dev, "disk/by-id"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(d.dev, filepath.Join(dev, "disk/by-id/google-det-data")); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "data")
	t.Cleanup(func() { _ = unix.Unmount(at, 0) })
	for range 2 {
		v := volume.Volume{Name: "det-data", At: at, Sys: d.sys, Dev: dev, Log: slog.New(slog.DiscardHandler)}
		if err := v.Mount(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.run("blkid", "-p", "-o", "export", d.dev); !strings.Contains(got, volume.Label) {
		t.Errorf("got %s, want a file system of ours", got)
	}
}

func TestMountNeverFormatsDiskWithData(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 4096)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	write := func(at int64) func(*disk) {
		return func(d *disk) {
			f, err := os.OpenFile(d.file, os.O_WRONLY, 0)
			if err != nil {
				d.t.Fatal(err)
			}
			if _, err := f.WriteAt(noise, at); err != nil {
				d.t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		fill func(*disk)
		want string
	}{
		"unknown bytes at its beginning": {write(8192), "is not blank"},
		"unknown bytes at its end":       {write(32<<20 - 4096), "is not blank"},
		"another file system":            {func(d *disk) { d.run("mkswap", d.dev) }, "contains swap, not ext4 or xfs"},
		"a partition table":              {func(d *disk) { d.run("sh", "-c", "echo 'label: gpt' | sfdisk --no-reread "+d.dev) }, "contains a partition table (gpt)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t, "vol0123456789abcdef0")
			tt.fill(d)
			d.run("sync")
			before := d.content()
			err := d.mount(filepath.Join(t.TempDir(), "data"))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			d.run("sync")
			if !bytes.Equal(d.content(), before) {
				t.Error("got another content, want that not one byte was written")
			}
		})
	}
}

func TestMountKeepsExistingFileSystem(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "vol0123456789abcdef0")
	d.run("mkfs.ext4", "-q", "-U", "0123cafe-0000-4000-8000-000000000000", d.dev)
	if err := d.mount(filepath.Join(t.TempDir(), "data")); err != nil {
		t.Fatal(err)
	}
	if got := d.run("blkid", "-p", "-o", "export", d.dev); !strings.Contains(got, "0123cafe-0000") {
		t.Errorf("got %s, want the file system that was there", got)
	}
}

func TestMountIgnoresOtherDisks(t *testing.T) {
	t.Parallel()
	d := newDisk(t, "vol0fedcba9876543210")
	before := d.content()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	v := volume.Volume{ID: id, Device: d.dev, At: filepath.Join(t.TempDir(), "data"), Sys: d.sys, Log: slog.New(slog.DiscardHandler)}
	if err := v.Mount(ctx); err == nil || !strings.Contains(err.Error(), "is it attached to this machine?") {
		t.Errorf("got %v, want that it is not found", err)
	}
	if !bytes.Equal(d.content(), before) {
		t.Error("got another content, want that not one byte was written")
	}
}
