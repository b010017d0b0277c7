package local

import (
	"context"
	"encoding/json"
	"fmt"
)

// BackupTo writes a backup with the program that the cluster runs, and returns its size.
func (t *Target) BackupTo(ctx context.Context, path string, dryRun bool) (size int64, err error) {
	defer t.Gate.Open(func(context.Context) error { return nil })() // the cluster is not changed
	args := []string{"master", "backup", "--config-file", t.Place.masterYAML(), "--file", path, "--output", "json"}
	if dryRun {
		args = append(args, "--dry-run")
	}
	out, err := t.newHost().runProgram(ctx, args...)
	if err != nil {
		return 0, err
	}
	var written struct {
		Bytes int64 `json:"bytes"`
	}
	if err := json.Unmarshal(out, &written); err != nil {
		return 0, fmt.Errorf("read the answer of master backup: %w", err)
	}
	return written.Bytes, nil
}

// HasMaster reports whether the cluster has a master, running or not.
func (t *Target) HasMaster() bool {
	_, found, err := t.Place.Processes().Unit("master")
	return found || err != nil
}

// HasStore reports whether the cluster has a store in its directory, which may be empty.
func (t *Target) HasStore() bool { return fileExists(t.Place.pathOf("data", "master", "master.db")) }

// restoreStore fills the empty store from the backup, before the first start of the master.
func (t *Target) restoreStore(ctx context.Context) error {
	if t.RestoreFrom == "" {
		return nil
	}
	_, err := t.newHost().runProgram(ctx, "master", "restore", "--config-file", t.Place.masterYAML(), "--file", t.RestoreFrom)
	return err
}
