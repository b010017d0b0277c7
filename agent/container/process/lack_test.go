package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/health"
)

// alone runs the calling test in a process of its own, whose limits it may change. It reports whether
// this is that process.
func alone(t *testing.T) bool {
	t.Helper()
	const variable = "ALONE"
	if os.Getenv(variable) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}

// lacks starts a task for each amount of a resource and checks that each failure is the machine's.
func lacks(t *testing.T, r *Runtime, want health.Lack, leave func(amount int)) {
	t.Helper()
	failed, started := 0, 0
	for amount := range 24 {
		spec := script(fmt.Sprintf("with-%d", amount), "exit 0")
		leave(amount)
		err := r.Start(t.Context(), spec)
		leave(-1)
		if err == nil {
			started++
			continue
		}
		failed++
		if got := health.LackOf(err); got != want {
			t.Errorf("%d are left: got %q for %v, want %q", amount, got, err, want)
		}
	}
	if failed == 0 || started == 0 {
		t.Errorf("%d starts failed and %d did not; want both", failed, started)
	}
}

func TestStartWithFewDescriptors(t *testing.T) {
	if !alone(t) {
		return
	}
	r := newPlain(t)
	r.machine.notPlaced = NoRuncError{}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 128, Max: 128}); err != nil {
		t.Fatal(err)
	}
	var open []*os.File
	lacks(t, r, health.Descriptors, func(amount int) {
		for f, err := os.Open(os.DevNull); amount >= 0 && err == nil; f, err = os.Open(os.DevNull) {
			open = append(open, f)
		}
		free := min(amount, len(open))
		if amount < 0 {
			free = len(open)
		}
		for range free {
			_ = open[len(open)-1].Close() // only read
			open = open[:len(open)-1]
		}
	})
}

func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	o := plainOptions(t)
	if err := os.Mkdir(o.Dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", o.Dir, "tmpfs", 0, "size=1m,mode=0711"); err != nil {
		t.Skipf("a file system of one megabyte cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(o.Dir, unix.MNT_DETACH) }) // of the test alone
	r := withOptions(t, o)
	r.machine.notPlaced = NoRuncError{}
	ballast := filepath.Join(o.Dir, "ballast")
	lacks(t, r, health.Disk, func(amount int) {
		if err := os.Remove(ballast); amount < 0 {
			if err != nil {
				t.Error(err)
			}
			return
		}
		_ = os.WriteFile(ballast, bytes.Repeat([]byte("x"), 2<<20), 0o600) // it fills the disk
		if info, err := os.Stat(ballast); err != nil || os.Truncate(ballast, max(0, info.Size()-int64(amount*os.Getpagesize()))) != nil {
			t.Errorf("leave %d pages: %v", amount, err)
		}
	})
}
