package link

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"time"
)

// hookTimeout is how long hooks.on_connection_lost may take. It usually
// switches the machine off.
const hookTimeout = 2 * time.Minute

func runHook(ctx context.Context, argv []string, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	log.Warn("running the hook for a lost connection", "command", argv[0])
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run hooks.on_connection_lost %s: %w: %s", argv[0], err, out)
	}
	return nil
}
