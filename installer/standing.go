package installer

import (
	"context"

	"github.com/det-deploy/det-deploy/installer/record"
)

// Standing is the state of a cluster between two releases, by its record and by what its
// master is set to run:
//
//	Missing ──install──▶ Unproven ──the master answers──▶ Serving ◀──────────────────┐
//	                      │    ▲                           │  ▲                       │
//	                      └────┘ install                upgrade │                      │
//	                                                       ▼  │                        │
//	                              ┌───── abandon ─────── Begun │                       │
//	                              │                        │ stop                      │
//	                              ├───── abandon ─────── Halted ◀─ the record is lost ─┤ Lost
//	                              │                        │ commit                    │
//	                              ├───── abandon ────── Committed                      │
//	                              │                        │ serve                     │
//	                              ├───── abandon ─────── Stuck ──the master answers──▶ Taken
//	                              │                        │ way back          upgrade │
//	                              ├─── upgrade, abandon ─ Returned                     │
//	                              ▼                                                    │
//	                           Serving ◀──abandon── Ill ◀──another user's upgrade──────┘
type Standing string

// The standings.
const (
	// Missing is a cluster without a master.
	Missing Standing = "missing"
	// Unproven is one whose master has never answered, of whatever release.
	Unproven Standing = "unproven"
	// Serving is one that no upgrade is under way of.
	Serving Standing = "serving"
	// Ill runs what has never answered, though a release before it has, and det-deploy
	// knows of no upgrade.
	Ill Standing = "ill"
	// Lost has its master stopped, and no record says for what.
	Lost Standing = "lost"
	// Begun has its way back written down, and the old master serves.
	Begun Standing = "begun"
	// Halted has its master stopped, or on hold.
	Halted Standing = "halted"
	// Committed may have a new master; it was not set to run yet.
	Committed Standing = "committed"
	// Stuck has a new master that has never answered.
	Stuck Standing = "stuck"
	// Taken has a new master that answers: what it writes the old one cannot read.
	Taken Standing = "taken"
	// Returned has its old master back after the commit.
	Returned Standing = "returned"
)

// Standings are all of them, in the order of the drawing.
func Standings() []Standing {
	return []Standing{Missing, Unproven, Serving, Ill, Lost, Begun, Halted, Committed, Stuck, Taken, Returned}
}

// Act is what a user may do about a cluster's release.
type Act string

// The acts.
const (
	ActInstall   Act = "install"
	ActUpgrade   Act = "upgrade"
	ActAbandon   Act = "upgrade --abandon"
	ActUninstall Act = "uninstall"
)

// Instead is the act that leads on where a is refused, and a itself where it works.
// Uninstall works everywhere. Of Ill it tells what holds for another release than the one
// that runs: install may always repair that one. Of Serving and Lost it tells what holds
// for install of the release that runs; of another one, install names upgrade.
func (s Standing) Instead(a Act) Act {
	if a == ActUninstall {
		return a
	}
	switch s {
	case Missing:
		return ActInstall
	case Unproven:
		if a == ActAbandon {
			return ActUninstall
		}
		return ActInstall
	case Serving, Lost:
		return a
	case Ill:
		return ActAbandon // its program cannot even write a backup
	case Begun, Halted, Committed, Stuck, Returned:
		if a == ActInstall {
			return ActUpgrade
		}
		return a
	case Taken:
		return ActUpgrade
	}
	return a
}

// Observation is what was observed of a cluster's release.
type Observation struct {
	// Upgrade is the one that the record has under way, or nil.
	Upgrade *record.Upgrade
	// Runs and Mode are what the master is set to.
	Runs record.Release
	Mode Mode
	// Answered is true when Runs has answered since it was set to run; Proven when any
	// release of the cluster ever has.
	Answered, Proven bool
	// Former is what ran before Runs, as far as the platform remembers.
	Former record.Release
}

// StandingOf is pure.
func StandingOf(s Observation) Standing {
	if s.Runs.IsZero() {
		return Missing
	}
	if u := s.Upgrade; u != nil {
		return underWay(*u, s)
	}
	switch {
	case s.Mode != Serve:
		return Lost
	case s.Answered:
		return Serving
	case !s.Proven:
		return Unproven
	case !s.Former.IsZero():
		return Ill
	}
	return Serving // it is not well, and no other release would be better
}

func underWay(u record.Upgrade, s Observation) Standing {
	old := u.From.Same(s.Runs) && !u.To.Same(s.Runs)
	switch {
	case !u.Committed && s.Mode == Serve:
		return Begun
	case !u.Committed:
		return Halted
	case old && s.Mode == Serve:
		return Returned
	case old:
		return Committed
	case s.Answered:
		return Taken
	}
	return Stuck
}

// Abandonable is an Upgradable that remembers what ran before, so that an upgrade can be
// given up.
type Abandonable interface {
	Upgradable

	// ReadHistory looks whether the master has answered, and what ran before it: it fills in
	// Former, and Answered and Proven where it knows more than the record.
	ReadHistory(ctx context.Context, s *Observation) error

	// Return has the master run a release that ran before, as it did then, and returns
	// when it answers. It may be repeated.
	Return(ctx context.Context, r record.Release, tell func(string)) error

	// Finish has the master run what is wanted, which has answered before, and returns
	// when it does again. Unlike SetMode it never goes back to what ran before: the store
	// is not that one's any more. It may be repeated.
	Finish(ctx context.Context, tell func(string)) error
}

// ObserveRelease puts together what there is to see. Where the platform does not report it, what runs is
// taken to have answered.
func ObserveRelease(ctx context.Context, target Upgradable, r record.Record) (Observation, error) {
	runs, mode, err := target.Runs(ctx)
	s := Observation{Upgrade: r.Upgrade, Runs: runs, Mode: mode, Answered: true, Proven: true}
	if err != nil || runs.IsZero() {
		return s, err
	}
	if a, able := target.(Abandonable); able {
		s.Answered, s.Proven = r.HasAnswered(runs), !r.Ready.IsZero()
		err = a.ReadHistory(ctx, &s)
	}
	return s, err
}
