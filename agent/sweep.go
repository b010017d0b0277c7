package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/det-deploy/det-deploy/agent/disk"
)

// Sweep kills and removes all containers of an agent that has stopped for good. It is safe to
// repeat, and returns an error if the agent is running.
func Sweep(ctx context.Context, cfg Config) error {
	dir := cfg.Settings.DataDir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := lockDir(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return fmt.Errorf("sweep data_dir %s: %w", dir, err)
	}
	defer unlock()
	if err := endFormerKeeper(ctx, dir); err != nil {
		return err
	}
	known, err := disk.Open(dir)
	if err != nil {
		return err
	}
	entries := known.Entries()
	var errs []error
	plain, err := plainProcesses(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = plain.Close() }() // it does not fail
	left, err := plain.List(ctx, "")
	errs = append(errs, err)
	for _, id := range left {
		errs = append(errs, plain.Remove(ctx, id))
	}
	// Orders on disk without a process directory ran in another runtime.
	r, err := chooseRuntime(ctx, cfg, cfg.Settings.AgentID)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, e := range entries {
		if !slices.Contains(left, e.ID()) {
			errs = append(errs, r.Remove(ctx, e.ID()))
		}
	}
	return errors.Join(append(errs, r.Close())...)
}
