package installer

import (
	"context"

	"github.com/det-deploy/det-deploy/installer/record"
)

// Standing is the state of a cluster with respect to upgrades, derived from its record and
// from the release and mode that its master is set to run:
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

// The states.
const (
	// Missing: the cluster has no master.
	Missing Standing = "missing"
	// Unproven: no master of the cluster has ever answered.
	Unproven Standing = "unproven"
	// Serving: no upgrade is in progress.
	Serving Standing = "serving"
	// Ill: the current release has never answered but an earlier one has, and no upgrade is
	// recorded.
	Ill Standing = "ill"
	// Lost: the master is stopped, and no upgrade is recorded.
	Lost Standing = "lost"
	// Begun: the previous release is recorded, and the old master still serves.
	Begun Standing = "begun"
	// Halted: the master is stopped or on hold.
	Halted Standing = "halted"
	// Committed: the upgrade is committed, but the new master is not set to serve yet.
	Committed Standing = "committed"
	// Stuck: the new master is set to serve and has never answered.
	Stuck Standing = "stuck"
	// Taken: the new master has answered. The old one cannot read the data that it writes.
	Taken Standing = "taken"
	// Returned: the old master runs again after the commit.
	Returned Standing = "returned"
)

// Standings returns all states in the order of the diagram.
func Standings() []Standing {
	return []Standing{Missing, Unproven, Serving, Ill, Lost, Begun, Halted, Committed, Stuck, Taken, Returned}
}

// Act is a user's action on a cluster's release.
type Act string

// The actions.
const (
	ActInstall   Act = "install"
	ActUpgrade   Act = "upgrade"
	ActAbandon   Act = "upgrade --abandon"
	ActUninstall Act = "uninstall"
)

// Instead returns the action that leads on in state s if a would be rejected, and a itself if it
// works. Uninstall always works. For Ill, it assumes that a installs another release than the
// current one, because installing the current one is always allowed as a repair. For Serving and
// Lost, it assumes an installation of the current release; for another one, install's error names
// upgrade.
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
		return ActAbandon // the old program cannot even write a backup
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

// Observation is the observed state of a cluster's release.
type Observation struct {
	// Upgrade is the upgrade in progress according to the record, or nil.
	Upgrade *record.Upgrade
	// Runs and Mode are the release and mode that the master is set to run.
	Runs record.Release
	Mode Mode
	// Answered reports whether Runs has answered since it was set, and Proven whether any release
	// of the cluster ever has.
	Answered, Proven bool
	// Former is the release before Runs, if the platform remembers it.
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
	return Serving // unhealthy, but no other release would be better
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

// Abandonable is an Upgradable that remembers the previous release, so that an upgrade can be
// abandoned.
type Abandonable interface {
	Upgradable

	// ReadHistory sets Former to the previous release, and Answered and Proven if the platform
	// knows more than the record.
	ReadHistory(ctx context.Context, s *Observation) error

	// Return makes the master run a previous release with its former configuration, and waits until
	// it answers. It may be repeated.
	Return(ctx context.Context, r record.Release, tell func(string)) error

	// Finish makes the master run the requested release, which has answered before, and waits until
	// it answers again. Unlike SetMode, it never returns to the previous release, which can no
	// longer use the store. It may be repeated.
	Finish(ctx context.Context, tell func(string)) error
}

// ObserveRelease combines the record with the state of the platform. If the platform does not
// report whether the master answered, it assumes so.
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
