package host

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/follow"
)

// Systemd starts and stops units with systemctl. Nothing waits for a unit: what
// it needs may take minutes, and whether it runs is looked at anyway.
type Systemd struct{}

var _ follow.Units = Systemd{}

// Restart restarts a unit, or starts it.
func (s Systemd) Restart(ctx context.Context, unit string) error {
	return s.Run(ctx, "restart", "--no-block", unit)
}

// Stop stops a unit, and returns when it did: what comes next may change what
// it runs on.
func (s Systemd) Stop(ctx context.Context, unit string) error { return s.Run(ctx, "stop", unit) }

// Running reports whether the unit runs, is being started or will be again.
func (s Systemd) Running(ctx context.Context, unit string) (bool, error) {
	out, err := s.runSystemctl(ctx, "show", "--property=ActiveState", "--property=Job", unit)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(out)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); {
		case name == "Job" && value != "" && value != "0":
			return true, nil // it waits for what it needs
		case name == "ActiveState" && (value == "active" || value == "activating" || value == "reloading"):
			return true, nil
		}
	}
	return false, nil
}

// ShuttingDown reports whether the machine is being powered off or restarted.
func (Systemd) ShuttingDown(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// It ends with an error in every state but one, and says which it is.
	out, _ := exec.CommandContext(ctx, "systemctl", "is-system-running").Output()
	return strings.TrimSpace(string(out)) == "stopping"
}

// Run runs systemctl.
func (s Systemd) Run(ctx context.Context, args ...string) error {
	_, err := s.runSystemctl(ctx, args...)
	return err
}

func (Systemd) runSystemctl(ctx context.Context, args ...string) ([]byte, error) {
	// A unit that does not stop is killed after its own limit, which is shorter.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "systemctl", args...) //nolint:gosec // the arguments are ours
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return out.Bytes(), nil
}
