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

// Sweep ends and removes every container of an agent that does not run any more
// and is not to come back. It may be repeated; an agent that runs is refused.
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
	// What the disk knows and no directory of a process stands for ran elsewhere.
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
