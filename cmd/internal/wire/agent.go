package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/det-deploy/det-deploy/agent"
	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/build"
)

// RunAgent runs an agent until ctx ends, writing its own log to out. Overlay
// reads the configuration that a master sends to agents which it launched.
func RunAgent(ctx context.Context, cfg config.Agent, overlay func([]byte) (config.Agent, error), out io.Writer, terminal bool) error {
	level := cfg.Log.Level
	if cfg.Debug {
		level = "debug"
	}
	log := slog.New(logHandler(out, level, cfg.Log.Color, terminal))
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if cfg.MachineSecretFile != "" {
		program = "" // it is its master's own file, and not the agent's to replace
	}
	err = agent.Run(ctx, agent.Config{
		Settings: cfg, Version: build.Read().Version, Log: log, Overlay: overlay, Program: program,
	})
	if s, ok := errors.AsType[*agent.SupersededError](err); ok {
		// The same process continues with the new program: its supervisor
		// sees nothing, and what it started stays its own.
		err = syscall.Exec(s.Program, os.Args, os.Environ())
		return fmt.Errorf("run %s in the place of this program: %w", s.Program, err)
	}
	return err
}

// SweepAgent ends and removes every container that an agent left.
func SweepAgent(ctx context.Context, cfg config.Agent, out io.Writer, terminal bool) error {
	log := slog.New(logHandler(out, cfg.Log.Level, cfg.Log.Color, terminal))
	return agent.Sweep(ctx, agent.Config{Settings: cfg, Version: build.Read().Version, Log: log})
}
