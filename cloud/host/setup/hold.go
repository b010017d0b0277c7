package setup

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// enginePackages returns the packages of container engines and of their access to GPUs, by Docker,
// Debian, Ubuntu and NVIDIA.
func enginePackages() []string {
	return []string{
		"docker-ce", "docker-ce-cli", "containerd.io", "docker.io", "containerd", "runc",
		"nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1",
	}
}

const (
	// holdTries and holdPause bound how long to wait for another process that uses the database of
	// packages, such as the updates at boot.
	holdTries = 25
	holdPause = 5 * time.Second
)

// Command runs a program and returns its output.
type Command func(ctx context.Context, name string, args ...string) ([]byte, error)

// Exec is a Command that runs a program of this machine.
func Exec(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return exec.CommandContext(ctx, name, args...).Output() //nolint:gosec // the arguments are ours
}

// HoldEngine returns the step that holds the installed packages of the container engine: a script
// that installs another engine would replace the one in use and end its containers. It returns none
// if there is nothing to hold, or if the machine does not use apt.
func HoldEngine(ctx context.Context, run Command) []Step {
	const format = "--showformat=${Package} ${db:Status-Status} ${db:Status-Want}\n"
	// dpkg-query also exits with an error if it knows only some of the packages.
	out, err := run(ctx, "dpkg-query", append([]string{"--show", format}, enginePackages()...)...)
	if _, incomplete := errors.AsType[*exec.ExitError](err); err != nil && !incomplete {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == "installed" && f[2] != "hold" {
			names = append(names, f[0])
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Step{{What: "hold the packages " + strings.Join(names, ", "), Optional: true, Do: func(ctx context.Context) error {
		return hold(ctx, run, names)
	}}}
}

func hold(ctx context.Context, run Command, names []string) error {
	for try := 1; ; try++ {
		_, err := run(ctx, "apt-mark", append([]string{"hold"}, names...)...)
		if err == nil {
			return nil
		}
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("apt-mark hold: %w: %s", e, strings.TrimSpace(string(e.Stderr)))
		}
		if try == holdTries {
			return err
		}
		if err := wait.For(ctx, holdPause); err != nil {
			return err
		}
	}
}
