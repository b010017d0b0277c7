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

// Systemd controls units with systemctl. Restart does not wait for the unit to start, because its
// dependencies may take minutes and the follower polls its state.
type Systemd struct{}

var _ follow.Units = Systemd{}

// Restart starts or restarts a unit.
func (s Systemd) Restart(ctx context.Context, unit string) error {
	return s.Run(ctx, "restart", "--no-block", unit)
}

// Stop stops a unit and waits until it has stopped, because the caller may replace its files next.
func (s Systemd) Stop(ctx context.Context, unit string) error { return s.Run(ctx, "stop", unit) }

// Running reports whether the unit is active, activating or about to be restarted.
func (s Systemd) Running(ctx context.Context, unit string) (bool, error) {
	out, err := s.runSystemctl(ctx, "show", "--property=ActiveState", "--property=Job", unit)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(out)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); {
		case name == "Job" && value != "" && value != "0":
			return true, nil // a job is queued until its dependencies are up
		case name == "ActiveState" && (value == "active" || value == "activating" || value == "reloading"):
			return true, nil
		}
	}
	return false, nil
}

// ShuttingDown reports whether the machine is being powered off or rebooted.
func (Systemd) ShuttingDown(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// systemctl prints the state, and exits with an error in every state but "running".
	out, _ := exec.CommandContext(ctx, "systemctl", "is-system-running").Output()
	return strings.TrimSpace(string(out)) == "stopping"
}

// Run runs systemctl with arguments.
func (s Systemd) Run(ctx context.Context, args ...string) error {
	_, err := s.runSystemctl(ctx, args...)
	return err
}

func (Systemd) runSystemctl(ctx context.Context, args ...string) ([]byte, error) {
	// systemd kills a unit that does not stop after its own, shorter timeout.
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
