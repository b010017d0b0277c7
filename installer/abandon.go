package installer

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/installer/record"
)

// Abandoned is the result of abandoning an upgrade.
type Abandoned struct {
	// From is the abandoned release, and To the restored one.
	From record.Release `json:"from"`
	To   record.Release `json:"to"`
	// Backup is the location of the backup, or "" if the upgrade had not made one.
	Backup string `json:"backup"`
	// Changed is false if no upgrade had to be abandoned.
	Changed bool `json:"changed"`
}

// errAbandonUnsupported reports that the platform does not support Abandon.
var errAbandonUnsupported = errors.New("upgrades on this platform cannot be abandoned")

// PlanAbandon returns the result that Abandon would have. It changes nothing.
func (in *Installer) PlanAbandon(ctx context.Context) (Abandoned, error) {
	target, able := in.Deployment.(Abandonable)
	if !able {
		return Abandoned{}, errAbandonUnsupported
	}
	r, _, _, err := record.Read(ctx, in.Store)
	if err != nil {
		return Abandoned{}, err
	}
	s, err := ObserveRelease(ctx, target, r)
	if err != nil {
		return Abandoned{}, err
	}
	return in.planAbandonFrom(s)
}

// Abandon stops an upgrade in progress, or a stuck one, and restores the previous release. It
// returns an error if a new master has answered, because that may have changed the store. It may be
// repeated.
func (in *Installer) Abandon(ctx context.Context) (Abandoned, error) {
	target, able := in.Deployment.(Abandonable)
	if !able {
		return Abandoned{}, errAbandonUnsupported
	}
	s := &session{Installer: in, action: "abandon"}
	var done Abandoned
	err := runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: s.acquireLease, Undo: s.releaseLease},
		phase{Name: "read the cluster's state", Do: func(ctx context.Context) (err error) {
			seen, err := ObserveRelease(ctx, target, s.book.Record())
			if err == nil {
				done, err = in.planAbandonFrom(seen)
			}
			return err
		}},
		phase{Name: "restore the previous release", Do: func(ctx context.Context) error { return s.goBack(ctx, target, done) }},
		phase{Name: "unlock the cluster", Do: s.releaseLease},
	)
	return done, err
}

// planAbandonFrom decides how to restore the previous release, or returns an error if that is
// impossible. It is pure.
func (in *Installer) planAbandonFrom(s Observation) (Abandoned, error) {
	at := StandingOf(s)
	switch at {
	case Missing:
		return Abandoned{}, in.absentError()
	case Serving:
		return Abandoned{From: s.Runs, To: s.Runs}, nil
	case Unproven, Taken:
		return Abandoned{}, &StandingError{Cluster: in.Cluster, Platform: in.Platform, At: at, Act: ActAbandon, Observation: s}
	case Lost:
		return Abandoned{To: s.Runs, Changed: true}, nil
	case Ill:
		return Abandoned{From: s.Runs, To: s.Former, Changed: true}, nil
	case Begun, Halted, Committed, Stuck, Returned:
	}
	a := Abandoned{From: s.Upgrade.To, To: s.Upgrade.From, Backup: s.Upgrade.Backup, Changed: true}
	if a.To.IsZero() {
		a.To = s.Former
	}
	if a.To.IsZero() {
		return Abandoned{}, errUnknownFormer
	}
	return a, nil
}

// errUnknownFormer reports that neither the record nor the platform knows the previous release.
var errUnknownFormer = errors.New("cannot find the previous release in the record or on the platform; run upgrade again, with the old program or the new one")

func (s *session) goBack(ctx context.Context, target Abandonable, a Abandoned) error {
	if !a.Changed {
		return nil
	}
	tell := (&upgrade{session: s}).progressOf("restore the previous release")
	tell("to " + a.To.String())
	if err := target.Return(ctx, a.To, tell); err != nil {
		if a.Backup == "" {
			return err
		}
		return fmt.Errorf("%w\nthe store as %s left it is in %s", err, a.To, a.Backup)
	}
	return s.book.Change(ctx, func(r *record.Record) { r.Release, r.Answered, r.Upgrade = a.To, a.To, nil })
}
