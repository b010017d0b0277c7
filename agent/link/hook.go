package link

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"time"
)

// hookTimeout is the timeout of a hook, which usually switches the machine off.
const hookTimeout = 2 * time.Minute

// RunHook runs the command of a hook in agent.yaml.
func RunHook(ctx context.Context, name string, argv []string, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	log.Warn("running a hook", "hook", name, "command", argv[0])
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run hooks.%s %s: %w: %s", name, argv[0], err, out)
	}
	return nil
}
