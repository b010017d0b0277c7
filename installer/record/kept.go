package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
)

// KeptKey holds the settings of a removed cluster.
const KeptKey = "kept.json"

// Keeper is a Store that may outlive its cluster with one object.
type Keeper interface {
	Store

	// DestroyExcept deletes all objects but one. It may be repeated.
	DestroyExcept(ctx context.Context, key string) error
}

// Retain destroys the store of a removed cluster except for the settings in the record. It reports
// whether there were any; if not, the store is gone.
func Retain(ctx context.Context, s Keeper) (kept bool, err error) {
	r, _, found, err := Read(ctx, s)
	if err != nil || !found || len(r.Settings) == 0 {
		return false, s.Destroy(ctx) // an unreadable record is of no use
	}
	data, err := json.Marshal(Record{Schema: Schema, Cluster: r.Cluster, Target: r.Target, Settings: r.Settings})
	if err != nil {
		return false, fmt.Errorf("keep the cluster's settings: %w", err)
	}
	old, err := s.Get(ctx, KeptKey)
	if err != nil && cloud.KindOf(err) != cloud.NotFound {
		return false, fmt.Errorf("keep the cluster's settings: %w", err)
	}
	if _, err := put(ctx, s, KeptKey, data, old.Version); err != nil {
		return false, fmt.Errorf("keep the cluster's settings: %w", err)
	}
	return true, s.DestroyExcept(ctx, KeptKey)
}

// Retained returns the settings that Retain has kept, or none.
func Retained(ctx context.Context, s Store) (map[string]string, error) {
	r, _, _, err := read(ctx, s, KeptKey)
	return r.Settings, err
}
