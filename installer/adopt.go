package installer

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/installer/record"
)

// ErrRecorded reports that the cluster has a record already.
var ErrRecorded = errors.New("the cluster has a record")

// Adopt writes a new record for a cluster that has lost its own, with the installer's settings and
// release. It changes nothing else.
func (in *Installer) Adopt(ctx context.Context) error {
	s := &session{Installer: in, action: "adopt"}
	return runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: s.acquireLease, Undo: s.releaseLease},
		phase{Name: "write the record", Do: func(ctx context.Context) error {
			if _, _, found, err := record.Read(ctx, s.Store); err != nil || found {
				return errors.Join(err, ErrRecorded)
			}
			return s.book.Change(ctx, func(r *record.Record) { r.Settings, r.Release = s.Settings, s.Release })
		}},
		phase{Name: "unlock the cluster", Do: s.releaseLease},
	)
}
