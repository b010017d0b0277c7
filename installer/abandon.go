package installer

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/installer/record"
)

// Abandoned is what giving an upgrade up came to.
type Abandoned struct {
	// From is the release that was given up, and To the one that serves again.
	From record.Release `json:"from"`
	To   record.Release `json:"to"`
	// Backup is where the store was kept, as far as it was.
	Backup string `json:"backup"`
	// Changed is false when there was nothing to give up.
	Changed bool `json:"changed"`
}

// errNoWayBack is a platform whose upgrades only end by themselves.
var errNoWayBack = errors.New("upgrades on this platform cannot be given up")

// PlanAbandon looks, and says what Abandon would do.
func (in *Installer) PlanAbandon(ctx context.Context) (Abandoned, error) {
	target, able := in.Deployment.(Abandonable)
	if !able {
		return Abandoned{}, errNoWayBack
	}
	r, _, _, err := record.Read(ctx, in.Store)
	if err != nil {
		return Abandoned{}, err
	}
	s, err := ObserveRelease(ctx, target, r)
	if err != nil {
		return Abandoned{}, err
	}
	return in.decideAbandon(s)
}

// Abandon gives up an upgrade that is under way or stuck, and leads back to the release
// that ran before. The store has to be untouched: once a new master has answered it
// refuses. It may be repeated.
func (in *Installer) Abandon(ctx context.Context) (Abandoned, error) {
	target, able := in.Deployment.(Abandonable)
	if !able {
		return Abandoned{}, errNoWayBack
	}
	s := &session{Installer: in, action: "abandon"}
	var done Abandoned
	err := runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: s.acquireLease, Undo: s.releaseLease},
		phase{Name: "look where it stands", Do: func(ctx context.Context) (err error) {
			seen, err := ObserveRelease(ctx, target, s.book.Record())
			if err == nil {
				done, err = in.decideAbandon(seen)
			}
			return err
		}},
		phase{Name: "go back", Do: func(ctx context.Context) error { return s.goBack(ctx, target, done) }},
		phase{Name: "unlock the cluster", Do: s.releaseLease},
	)
	return done, err
}

// decideAbandon decides which way leads back, or why none does. It is pure.
func (in *Installer) decideAbandon(s Observation) (Abandoned, error) {
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

// errUnknownFormer is an upgrade of which nothing says what it led from.
var errUnknownFormer = errors.New("neither the record nor the platform says what ran before; run upgrade again, with the old program or the new one")

func (s *session) goBack(ctx context.Context, target Abandonable, a Abandoned) error {
	if !a.Changed {
		return nil
	}
	tell := (&upgrade{session: s}).progressOf("go back")
	tell("to " + a.To.String())
	if err := target.Return(ctx, a.To, tell); err != nil {
		if a.Backup == "" {
			return err
		}
		return fmt.Errorf("%w\nthe store as %s left it is in %s", err, a.To, a.Backup)
	}
	return s.book.Change(ctx, func(r *record.Record) { r.Release, r.Answered, r.Upgrade = a.To, a.To, nil })
}
