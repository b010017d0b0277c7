package installer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Mode is how a master's machine runs its program.
//
//	Serve ──stop──▶ Stop ──start on hold──▶ Hold ──commit──▶ Serve, the new one
//	  ▲               │                      │
//	  └───way back────┴──────────────────────┘
type Mode string

// The modes.
const (
	// Serve runs the master normally.
	Serve Mode = "serve"
	// Hold runs a master that tests a copy of the store and accepts no requests.
	Hold Mode = "hold"
	// Stop runs no master. The machine, its disk and its address stay.
	Stop Mode = "stop"
)

// Upgradable is a Deployment whose master can switch to another program and keep its data. All
// calls may be repeated.
type Upgradable interface {
	Deployment

	// Runs returns the release and mode that the master's machine is set to run. They are zero if
	// there is no master.
	Runs(ctx context.Context) (record.Release, Mode, error)

	// UploadPrograms uploads the programs of a release for the machines of the cluster, and reports
	// its progress. Nothing uses them yet.
	UploadPrograms(ctx context.Context, r record.Release, tell func(string)) error

	// SetMode makes the master's machine run r in a mode and waits until it does: for Serve, until
	// it answers; for Hold, until it reports that it could serve; for Stop, until no process writes
	// to the store. An error includes the report of the machine.
	SetMode(ctx context.Context, r record.Release, m Mode, tell func(string)) error

	// Backup copies the store, while no master writes to it, in case the upgrade has to be
	// reverted. It returns the location. Of is the release that wrote the store.
	Backup(ctx context.Context, of record.Release, tell func(string)) (where string, err error)

	// WaitForAgents waits until the agents run r, or reports that they will switch by themselves.
	WaitForAgents(ctx context.Context, r record.Release, tell func(string)) error
}

// backLimit limits the way back, in which the old master has to be started and to answer. A machine
// polls its manifest every 30 s.
const backLimit = 5 * time.Minute

// Upgraded is the result of an upgrade.
type Upgraded struct {
	From record.Release `json:"from"`
	To   record.Release `json:"to"`
	// Backup is the location of the backup.
	Backup string `json:"backup"`
	// Changed is false if the cluster already ran To.
	Changed bool `json:"changed"`
}

// Upgrade changes the release of the cluster. If it fails before the commit, it restores the old
// master on the unchanged store; after a kill, the same command continues. It returns when the
// cluster answers.
func (in *Installer) Upgrade(ctx context.Context, to record.Release) (Upgraded, error) {
	target, able := in.Deployment.(Upgradable)
	if !able {
		return Upgraded{}, fmt.Errorf("upgrade cluster %s: clusters on %s cannot be upgraded in place", in.Cluster, in.Platform)
	}
	u := &upgrade{session: &session{Installer: in, action: "upgrade"}, target: target}
	u.To = to
	err := runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: u.acquireLease, Undo: u.releaseLease},
		phase{Name: "read the cluster's state", Do: u.readState},
		phase{Name: "upload the programs", Do: u.offerPrograms},
		phase{Name: "record the previous release", Do: u.beginUpgrade, Undo: u.restoreOld, Limit: backLimit},
		phase{Name: "stop the master", Do: u.stopOld},
		phase{Name: "back up the store", Do: u.backUp},
		phase{Name: "test the new master on hold", Do: u.tryNew},
		phase{Name: "commit", Do: u.commitUpgrade}, // cannot be undone from here
		phase{Name: "wait for the cluster", Do: u.awaitReady},
		phase{Name: "wait for the agents", Do: u.awaitAgents},
		phase{Name: "unlock the cluster", Do: u.releaseLease},
	)
	return Upgraded{u.From, to, u.Backup, u.changed}, err
}

// upgrade is an upgrade in progress. The embedded Upgrade is recorded and survives the process.
type upgrade struct {
	*session
	record.Upgrade

	target Upgradable
	// changed is false if the cluster already runs the release and only has to be verified.
	changed bool
	// mode is the master's mode at the start.
	mode Mode
}

// readState decides from which release this upgrade starts, and whether another upgrade has to be
// finished first.
func (u *upgrade) readState(ctx context.Context) error {
	observed, err := ObserveRelease(ctx, u.target, u.book.Record())
	if err != nil {
		return err
	}
	runs, mode, begun := observed.Runs, observed.Mode, observed.Upgrade
	u.mode = mode
	at := StandingOf(observed)
	if begun != nil && (at == Returned || at == Committed) {
		begun.Committed, begun.Answered = false, false // the new master was not set to serve, or the old one was restored
	}
	if begun != nil && at == Taken {
		begun.Answered = true
	}
	switch {
	case begun != nil && begun.Committed && !begun.To.Same(u.To):
		return &unfinishedError{to: begun.To, abandon: u.abandonCommand(at)}
	case begun != nil:
		begun.To = u.To // another release may be tried from the same old one
		u.Upgrade, u.changed = *begun, true
		return nil
	case at == Missing:
		return u.absentError()
	case at == Unproven, at == Ill:
		return &StandingError{Cluster: u.Cluster, Platform: u.Platform, At: at, Act: ActUpgrade, Observation: observed}
	}
	u.From = runs
	u.changed = !runs.Same(u.To) || mode != Serve
	if mode != Serve {
		u.From = record.Release{} // the record was lost during an upgrade: the previous release is unknown
	}
	return nil
}

func (u *upgrade) offerPrograms(ctx context.Context) error {
	if !u.changed {
		return nil
	}
	return u.target.UploadPrograms(ctx, u.To, u.progressOf("upload the programs"))
}

func (u *upgrade) beginUpgrade(ctx context.Context) error {
	if !u.changed {
		return nil
	}
	return u.saveUpgrade(ctx)
}

// restoreOld starts the old master again, unless the new one may have served.
func (u *upgrade) restoreOld(ctx context.Context) error {
	switch {
	case !u.changed || u.Committed:
		return nil
	case u.From.IsZero():
		return errors.New("the record does not contain the previous release; run upgrade again, with the old program or the new one")
	}
	u.emitProgress("restore the previous release", "to "+u.From.String())
	if err := u.target.SetMode(ctx, u.From, Serve, u.progressOf("restore the previous release")); err != nil {
		return err
	}
	return u.book.Change(ctx, func(r *record.Record) { r.Upgrade = nil })
}

func (u *upgrade) stopOld(ctx context.Context) error {
	if !u.changed || u.Committed || u.From.IsZero() {
		return nil
	}
	return u.target.SetMode(ctx, u.From, Stop, u.progressOf("stop the master"))
}

// backUp makes one backup. It repeats a backup from before the master last served, which would lack
// later writes.
func (u *upgrade) backUp(ctx context.Context) error {
	if !u.changed || u.Committed || u.From.IsZero() || u.Backup != "" && u.mode != Serve {
		return nil
	}
	where, err := u.target.Backup(ctx, u.From, u.progressOf("back up the store"))
	if err != nil {
		return err
	}
	u.Backup = where
	return u.saveUpgrade(ctx)
}

func (u *upgrade) tryNew(ctx context.Context) error {
	if !u.changed || u.Committed {
		return nil
	}
	return u.target.SetMode(ctx, u.To, Hold, u.progressOf("test the new master on hold"))
}

// commitUpgrade records the commit first, because the new master may serve as soon as it is set to,
// even if this process dies.
func (u *upgrade) commitUpgrade(ctx context.Context) error {
	if !u.changed {
		return nil
	}
	was := u.Committed
	u.Committed = true
	if err := u.saveUpgrade(ctx); err != nil {
		u.Committed = was // unless it was committed before, the master was not set to serve, so that the upgrade can be undone
		return err
	}
	err := u.serveNew(ctx)
	if back, taken := errors.AsType[*TakenBackError](err); taken {
		u.Committed = false
		if err := u.book.Change(ctx, func(r *record.Record) { r.Upgrade = nil }); err != nil {
			return errors.Join(back, err)
		}
		return back
	}
	if err != nil {
		return &CommittedError{Upgrade: u.Upgrade, Err: err, abandon: u.abandonCommand(u.standingAfter(ctx))}
	}
	u.Answered = true
	return u.saveUpgrade(ctx)
}

// serveNew makes the new master serve. It does not roll back a master that has answered.
func (u *upgrade) serveNew(ctx context.Context) error {
	if target, able := u.target.(Abandonable); able && u.Answered {
		return target.Finish(ctx, u.progressOf("commit"))
	}
	return u.target.SetMode(ctx, u.To, Serve, u.progressOf("commit"))
}

// standingAfter returns the state of the cluster after a failed commit, or Stuck if it cannot be
// read.
func (u *upgrade) standingAfter(ctx context.Context) Standing {
	s, err := ObserveRelease(ctx, u.target, u.book.Record())
	if err != nil {
		return Stuck
	}
	return StandingOf(s)
}

func (in *Installer) absentError() *AbsentError {
	e := &AbsentError{Cluster: in.Cluster}
	if _, able := in.Deployment.(Abandonable); able {
		e.Command = in.commandFor(ActInstall)
	}
	return e
}

// abandonCommand returns the command that abandons the upgrade, or "" if the platform has none.
func (in *Installer) abandonCommand(at Standing) string {
	if _, able := in.Deployment.(Abandonable); !able || at.Instead(ActAbandon) != ActAbandon {
		return ""
	}
	return in.commandFor(ActAbandon)
}

// commandFor returns the command line of an action, for a user to copy.
func (in *Installer) commandFor(a Act) string { return formatCommand(in.Platform, in.Cluster, a) }

func formatCommand(platform, cluster string, a Act) string {
	return "det-deploy " + platform + " " + string(a) + " --cluster-id " + cluster
}

func (u *upgrade) awaitAgents(ctx context.Context) error {
	if err := u.target.WaitForAgents(ctx, u.To, u.progressOf("wait for the agents")); err != nil {
		return err
	}
	return u.book.Change(ctx, func(r *record.Record) {
		if u.Answered {
			r.Answered = u.To
		}
		r.Release, r.Upgrade = u.To, nil
	})
}

func (u *upgrade) saveUpgrade(ctx context.Context) error {
	now := u.Upgrade
	return u.book.Change(ctx, func(r *record.Record) { r.Upgrade = &now })
}

func (u *upgrade) progressOf(subject string) func(string) {
	return func(what string) { u.emitProgress(subject, what) }
}

func (u *upgrade) emitProgress(subject, what string) {
	u.Emit.Emit(event.Event{Type: event.Progress, Scope: event.Phase, Subject: subject, Message: what})
}
