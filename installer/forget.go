package installer

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
)

// kindSettings is the kind of the settings of a removed cluster in a receipt.
const kindSettings = "settings"

// KeptSettings describes the settings of a removed cluster in a receipt.
func KeptSettings(cluster string) resource.Found {
	return resource.Found{Kind: kindSettings, ID: cluster, Name: cluster, Retain: "are used when the cluster is created again"}
}

// IsSettings reports whether f is of KeptSettings.
func IsSettings(f resource.Found) bool { return f.Kind == kindSettings }

// DropSettings deletes the settings that Down has kept, with their store.
func (in *Installer) DropSettings(ctx context.Context) error {
	s := &session{Installer: in, action: "down"}
	return runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: s.takeLease, Undo: s.releaseLease},
		phase{Name: "forget the settings", Do: func(ctx context.Context) error {
			if err := s.lease.Finished(); err != nil {
				return err
			}
			if _, _, found, err := record.Read(ctx, in.Store); err != nil || found {
				return fmt.Errorf("forget the settings of cluster %s: %w", in.Cluster, orChanged(err))
			}
			_, err := s.deleteRecord(ctx, true)
			return err
		}},
	)
}

// orChanged returns err, or ErrPlanChanged if there is none.
func orChanged(err error) error {
	if err != nil {
		return err
	}
	return ErrPlanChanged
}
