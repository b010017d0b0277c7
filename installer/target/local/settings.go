package local

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// settingsFile is the file with the settings of a removed cluster, next to its data.
func (p Place) settingsFile() string { return p.pathOf("data", "settings.json") }

// KeptSettings returns the settings that a removed cluster had. It returns none if its data was deleted, or
// its settings with DropSettings.
func (p Place) KeptSettings() (map[string]string, error) {
	data, err := os.ReadFile(p.settingsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wrapRefusal("read", p.settingsFile(), err)
	}
	var out map[string]string
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, &atomicfile.DamagedError{Path: p.settingsFile(), Err: atomicfile.JSONDamage(data, err), Fix: "delete it with `det-deploy local down --forget`"}
	}
	return out, nil
}

// DropSettings deletes the settings of a removed cluster, if there are any.
func (p Place) DropSettings() error {
	err := os.Remove(p.settingsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return wrapRefusal("remove", p.settingsFile(), err)
}

// keepSettings stores the settings of a cluster whose record is about to be deleted, if its data remains.
func (p Place) keepSettings(ctx context.Context) error {
	r, _, found, err := record.Read(ctx, p.Store())
	if err != nil || !found || len(r.Settings) == 0 || !fileExists(p.dataDir()) {
		return err
	}
	data, err := json.MarshalIndent(r.Settings, "", "  ")
	if err != nil {
		return err
	}
	return wrapRefusal("write", p.settingsFile(), atomicfile.Write(p.settingsFile(), data, 0o600))
}
