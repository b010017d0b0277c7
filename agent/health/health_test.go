package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

func TestMachineFaultsAreNotTaskFaults(t *testing.T) {
	t.Parallel()
	fork := &os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: unix.EAGAIN}
	for _, c := range []struct {
		err  error
		want Lack
	}{
		{nil, ""},
		{errors.New("no such image"), ""},
		{os.ErrNotExist, ""},
		{unix.EACCES, ""},
		{fmt.Errorf("write order: %w", &os.PathError{Op: "write", Path: "/x", Err: unix.ENOSPC}), Disk},
		{unix.EDQUOT, Disk},
		{errors.Join(nil, fmt.Errorf("start the process: %w", unix.EMFILE)), Descriptors},
		{&container.NeverRanError{Err: os.NewSyscallError("open", unix.ENFILE)}, Descriptors},
		{unix.ENOMEM, Memory},
		{fmt.Errorf("start the process: %w", fork), Processes},
		{fmt.Errorf("inspect container: %w", container.ErrNoAnswer), Engine},
		{fmt.Errorf("keep: %w", &SickError{Lack: Memory}), Memory},
	} {
		if got := LackOf(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

func TestReasonBeginsWithShortage(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("write order: %w", unix.ENOSPC)
	if got, want := Explain(err), "no space left on device: write order: no space left on device"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Explain(unix.ENOSPC); got != "no space left on device" {
		t.Errorf("got %q", got)
	}
}

func TestCauseOmitsTaskNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lack Lack
		err  error
		want string
	}{
		{Disk, fmt.Errorf("pull image secret/x: %w", unix.ENOSPC), "no space left on device"},
		{Processes, fmt.Errorf("start: %w", &os.PathError{Op: "fork/exec", Path: "/secret", Err: unix.EAGAIN}), "resource temporarily unavailable"},
		{Engine, fmt.Errorf("container secret: %w", container.ErrNoAnswer), "the container engine does not answer"},
		{Engine, errors.New("ping secret: connection refused"), "the container engine does not answer"},
		{Memory, fmt.Errorf("secret: %w", &SickError{Lack: Memory, Reason: "cannot allocate memory"}), "cannot allocate memory"},
		{Disk, &os.PathError{Op: "open", Path: "/secret", Err: unix.EROFS}, "a probe failed; see the agent's log"},
	} {
		if got := Cause(c.lack, c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

func TestProbesOfSickMachineBackOff(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_000_000, 0)
	s := State{}.Failed(Disk, "full", begin)
	if !s.Sick() || s.Err() == nil || !s.Next.Equal(begin.Add(time.Second)) {
		t.Fatalf("got %+v, want a probe in a second", s)
	}
	if again := s.Failed(Memory, "other", begin.Add(time.Second)); again != s {
		t.Errorf("a second failure: got %+v, want %+v", again, s)
	}
	now := begin
	for range 20 {
		now = s.Next
		s = s.Probed(Descriptors, "too many", now)
	}
	if s.Lack != Descriptors || s.Next.Sub(now) != maxPause || !s.Since.Equal(begin) {
		t.Errorf("got %+v, want the last reason, a minute's pause, and its beginning", s)
	}
	s = s.Probed("", "", now)
	if s.Sick() || s.Err() != nil {
		t.Errorf("after a good probe: got %+v", s)
	}
}

func TestRelapsedMachineIsTrustedLater(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		name  string
		after time.Duration
		then  func(State) State
		want  time.Duration
	}{
		{"soon", time.Second, func(s State) State { return s }, 2 * firstPause},
		{"after a container has started", time.Second, State.Started, firstPause},
		{"long after", relapse, func(s State) State { return s }, firstPause},
	} {
		well := c.then(State{}.Failed(Disk, "full", begin).Probed("", "", begin.Add(time.Second)))
		at := begin.Add(time.Second + c.after)
		if got := well.Failed(Disk, "full", at).Next.Sub(at); got != c.want {
			t.Errorf("%s: got a probe after %v, want %v", c.name, got, c.want)
		}
	}
	if s := (State{}).Started().Probed(Disk, "x", begin); s != (State{}) {
		t.Errorf("a probe of a machine that is well: got %+v", s)
	}
}

func TestProbeOfHealthyMachineFindsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if l, err := (Probe{Dir: dir}).Run(t.Context()); l != "" || err != nil {
		t.Errorf("got %q, %v", l, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 { // the pattern is valid
		t.Errorf("the probe leaves %q", left)
	}
}

func TestProbeReportsShortage(t *testing.T) {
	t.Parallel()
	p := Probe{Dir: t.TempDir(), Engine: func(context.Context) error { return errors.New("connection refused") }}
	if l, err := p.Run(t.Context()); l != Engine || err == nil {
		t.Errorf("an engine that does not answer: got %q, %v", l, err)
	}
	p = Probe{Dir: filepath.Join(p.Dir, "missing")}
	if l, err := p.Run(t.Context()); l != Disk || err == nil {
		t.Errorf("no directory: got %q, %v", l, err)
	}
}

func TestAProbeSeesAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	l, err := (Probe{Dir: dir}).Run(t.Context())
	if l != Disk || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %q, %v, want a full disk", l, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 { // the pattern is valid
		t.Errorf("the probe leaves %q", left)
	}
}

// probed is the environment variable that makes this test program run a probe with a very low limit
// of open files.
const probed = "DET_DEPLOY_TEST_PROBE"

func TestAProbeSeesFewDescriptors(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(probed); dir != "" {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 16, Max: 16}); err != nil {
			t.Fatal(err)
		}
		if l, err := (Probe{Dir: dir}).Run(t.Context()); l != Descriptors {
			t.Errorf("got %q, %v, want too few descriptors", l, err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestAProbeSeesFewDescriptors$")
	cmd.Env = append(os.Environ(), probed+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
