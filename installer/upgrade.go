package installer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Mode is how a master's machine is to run its program.
//
//	Serve ──stop──▶ Stop ──start on hold──▶ Hold ──commit──▶ Serve, the new one
//	  ▲               │                      │
//	  └───way back────┴──────────────────────┘
type Mode string

// The modes.
const (
	// Serve is the master as users know it.
	Serve Mode = "serve"
	// Hold is a master that tries the store on a copy and accepts nothing.
	Hold Mode = "hold"
	// Stop is no master. The machine, its disk and its address stay.
	Stop Mode = "stop"
)

// Upgradable is a Deployment whose master can be given another program while its
// data stays where it is. All calls may be repeated.
type Upgradable interface {
	Deployment

	// Runs says what the master's machine is set to run, and how. It is zero when
	// there is no master.
	Runs(ctx context.Context) (record.Release, Mode, error)

	// UploadPrograms brings the programs of a release to where the machines of the cluster
	// find them, reporting what it waits for. Nothing uses them yet.
	UploadPrograms(ctx context.Context, r record.Release, tell func(string)) error

	// SetMode has the master's machine run r in a mode, and returns when it does: for
	// Serve when it answers, for Hold when it has reported that it could serve, for
	// Stop when nothing writes the store any more. An error says what it
	// reported instead.
	SetMode(ctx context.Context, r record.Release, m Mode, tell func(string)) error

	// Backup copies the store, which no master writes, for the case that the upgrade
	// turns out to be wrong, and says where. Of is what its programs wrote.
	Backup(ctx context.Context, of record.Release, tell func(string)) (where string, err error)

	// WaitForAgents waits until the agents run r, or says that they will by themselves.
	WaitForAgents(ctx context.Context, r record.Release, tell func(string)) error
}

// backLimit is how long the way back may take: the old master has to be told, to
// start and to answer. A machine looks every 30 s what it is to run.
const backLimit = 5 * time.Minute

// Upgraded is what an upgrade came to.
type Upgraded struct {
	From record.Release `json:"from"`
	To   record.Release `json:"to"`
	// Backup is where the store was kept before.
	Backup string `json:"backup"`
	// Changed is false when the cluster ran To already.
	Changed bool `json:"changed"`
}

// Upgrade brings the cluster to another release. Until it is committed, whatever
// goes wrong puts the old master back on the untouched store; after a kill the same
// command continues. It returns when the cluster answers.
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
		phase{Name: "look where it stands", Do: u.readState},
		phase{Name: "bring the programs", Do: u.offerPrograms},
		phase{Name: "write down the way back", Do: u.beginUpgrade, Undo: u.restoreOld, Limit: backLimit},
		phase{Name: "stop the master", Do: u.stopOld},
		phase{Name: "back up the store", Do: u.backUp},
		phase{Name: "try the new master on hold", Do: u.tryNew},
		phase{Name: "commit", Do: u.commitUpgrade}, // no way back from here
		phase{Name: "wait for the cluster", Do: u.awaitReady},
		phase{Name: "let the agents follow", Do: u.awaitAgents},
		phase{Name: "unlock the cluster", Do: u.releaseLease},
	)
	return Upgraded{u.From, to, u.Backup, u.changed}, err
}

// upgrade is one under way. What of it is in the record survives the process.
type upgrade struct {
	*session
	record.Upgrade

	target Upgradable
	// changed is false when there is nothing to do but to see that it is so.
	changed bool
	// mode is how the master was found.
	mode Mode
}

// readState decides which release this upgrade starts from, and whether another upgrade
// has to be finished first.
func (u *upgrade) readState(ctx context.Context) error {
	observed, err := ObserveRelease(ctx, u.target, u.book.Record())
	if err != nil {
		return err
	}
	runs, mode, begun := observed.Runs, observed.Mode, observed.Upgrade
	u.mode = mode
	at := StandingOf(observed)
	if begun != nil && (at == Returned || at == Committed) {
		begun.Committed, begun.Answered = false, false // the new one was not told to serve, or was taken back
	}
	if begun != nil && at == Taken {
		begun.Answered = true
	}
	switch {
	case begun != nil && begun.Committed && !begun.To.Same(u.To):
		return &unfinishedError{to: begun.To, abandon: u.abandonCommand(at)}
	case begun != nil:
		begun.To = u.To // another one may be tried from the same old one
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
		u.From = record.Release{} // the record is lost in the middle of one: the way back is not known
	}
	return nil
}

func (u *upgrade) offerPrograms(ctx context.Context) error {
	if !u.changed {
		return nil
	}
	return u.target.UploadPrograms(ctx, u.To, u.progressOf("bring the programs"))
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
		return errors.New("the record does not say what ran before; run upgrade again, with the old program or the new one")
	}
	u.emitProgress("going back", "to "+u.From.String())
	if err := u.target.SetMode(ctx, u.From, Serve, u.progressOf("going back")); err != nil {
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

// backUp keeps the store once: one that was kept before the master last served
// would lack what it wrote then.
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
	return u.target.SetMode(ctx, u.To, Hold, u.progressOf("try the new master on hold"))
}

// commitUpgrade stores the commit first: the new master may serve as soon as it is told
// to, even if this process dies.
func (u *upgrade) commitUpgrade(ctx context.Context) error {
	if !u.changed {
		return nil
	}
	was := u.Committed
	u.Committed = true
	if err := u.saveUpgrade(ctx); err != nil {
		u.Committed = was // unless it was before, it has not been told to serve: there is a way back
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

// serveNew has the new master serve. It does not roll back once that has answered.
func (u *upgrade) serveNew(ctx context.Context) error {
	if target, able := u.target.(Abandonable); able && u.Answered {
		return target.Finish(ctx, u.progressOf("commit"))
	}
	return u.target.SetMode(ctx, u.To, Serve, u.progressOf("commit"))
}

// standingAfter is the standing of the cluster after a failed commit, as far as it can be
// seen.
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

// abandonCommand is the command that abandons an upgrade, empty if the platform has none.
func (in *Installer) abandonCommand(at Standing) string {
	if _, able := in.Deployment.(Abandonable); !able || at.Instead(ActAbandon) != ActAbandon {
		return ""
	}
	return in.commandFor(ActAbandon)
}

// commandFor is the command line for an action, for a user to copy.
func (in *Installer) commandFor(a Act) string { return formatCommand(in.Platform, in.Cluster, a) }

func formatCommand(platform, cluster string, a Act) string {
	return "det-deploy " + platform + " " + string(a) + " --cluster-id " + cluster
}

func (u *upgrade) awaitAgents(ctx context.Context) error {
	if err := u.target.WaitForAgents(ctx, u.To, u.progressOf("let the agents follow")); err != nil {
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
