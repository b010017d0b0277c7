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

// RunAgent runs an agent until ctx ends. It writes the agent's log to out. overlay reads the configuration
// that a master sends to the agents that it launched.
func RunAgent(ctx context.Context, cfg config.Agent, overlay func([]byte) (config.Agent, error), out io.Writer, terminal bool) error {
	level := cfg.Log.Level
	if cfg.Debug {
		level = "debug"
	}
	log := slog.New(logHandler(out, level, cfg.Log.Color, terminal))
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the file of this program: %w", err)
	}
	if cfg.MachineSecretFile != "" {
		program = "" // the program file belongs to the master, so that the agent must not replace it
	}
	err = agent.Run(ctx, agent.Config{
		Settings: cfg, Version: build.Read().Version, Log: log, Overlay: overlay, Program: program,
	})
	if s, ok := errors.AsType[*agent.SupersededError](err); ok {
		// The process replaces itself by the new program, so that its supervisor notices no exit and its
		// child processes remain its own.
		err = syscall.Exec(s.Program, os.Args, os.Environ())
		return fmt.Errorf("cannot replace this process by %s: %w", s.Program, err)
	}
	return err
}

// SweepAgent stops and removes all containers that an agent left behind.
func SweepAgent(ctx context.Context, cfg config.Agent, out io.Writer, terminal bool) error {
	log := slog.New(logHandler(out, cfg.Log.Level, cfg.Log.Color, terminal))
	return agent.Sweep(ctx, agent.Config{Settings: cfg, Version: build.Read().Version, Log: log})
}
