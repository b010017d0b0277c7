// Package follow makes this machine's master what the installer wants it to be:
// it reads the cluster's manifest from the control bucket, puts the program and
// the files in place, starts, holds or stops the master, goes back to what was
// well before where that is allowed, and says in the bucket what came of it.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Unit is the master's unit.
const Unit = "det-deploy-master.service"

// Every is how often the manifest is asked for. An operator who changes
// something waits for half of it.
const Every = 30 * time.Second

// EveryBusy is how often while the installer is at work: the machine has no
// manifest yet, or its master is held or stopped for the next step.
const EveryBusy = 5 * time.Second

// Patience is how long a master may take to answer before it is given up: a
// database of some gigabytes that has to be checked after a crash needs a
// minute or two.
const Patience = 3 * time.Minute

// Bucket is the control bucket.
type Bucket interface {
	// Changed returns an object and its mark, or nothing when the mark is still
	// the one given.
	Changed(ctx context.Context, key, mark string) (data []byte, now string, err error)
	// Fetch copies an object.
	Fetch(ctx context.Context, key string, to io.Writer) error
	// Put writes an object.
	Put(ctx context.Context, key string, data []byte) error
}

// Units starts and stops the machine's services. It returns before they did.
type Units interface {
	Restart(ctx context.Context, unit string) error
	Stop(ctx context.Context, unit string) error
	// Running reports whether the unit runs, is being started or will be again.
	Running(ctx context.Context, unit string) (bool, error)
}

// Config is what a follower needs.
type Config struct {
	Cluster, Instance string
	// Arch is this machine's architecture: "amd64".
	Arch   string
	Bucket Bucket
	Units  Units
	// Well asks the master whether it is well.
	Well func(context.Context, manifest.Health) error
	// Root is put before every path, for tests; empty otherwise.
	Root string
	// Self is the file of the program that follows. When the master has been
	// well with another one, Run returns so that the machine starts it instead.
	Self string
	// Tell is called with each manifest that is applied: what else on the machine
	// uses it. It returns whether the program has to be restarted for that; then Run
	// returns. It may be nil.
	Tell func(manifest.Manifest) (anew bool)
	Log  *slog.Logger
	Now  func() time.Time
}

// Follower follows one cluster's manifest.
type Follower struct {
	Config

	state   State
	mark    string
	looked  time.Time
	trouble string // why the last turn could not do all it wanted
	sick    string // why the master is not well
	final   bool   // that it says so itself, and waiting will not change it
	anew    bool   // that the program has to be restarted for something else

	said   manifest.Status
	saidAt time.Time
}

// New returns a follower that remembers what the machine did before.
func New(c Config) (*Follower, error) {
	f := &Follower{Config: c}
	err := atomicfile.ReadJSON(f.rootPath(stateFile), "remove it: the machine then takes the manifest from the bucket again", &f.state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look at what this machine was to run: %w", err)
	}
	if f.state.Applied != nil {
		// The machine may have been off: a master is given its time again.
		f.state.Started = f.Now()
		f.notifyApplied(*f.state.Applied)
		f.anew = false // it begins with it
	}
	return f, nil
}

// Run follows until ctx is done, or until the program should be restarted:
// from another file, or with what else has changed.
func (f *Follower) Run(ctx context.Context) error {
	for {
		next := f.Turn(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to end
		}
		if f.isReplaced() {
			f.Log.Info("the program was replaced, starting the new one", "version", f.state.Applied.Version)
			return nil
		}
		if f.anew {
			f.Log.Info("what this program was started with has changed, restarting it")
			return nil
		}
		if wait.For(ctx, next) != nil {
			return nil //nolint:nilerr // it was asked to stop
		}
	}
}

// Turn looks, decides and acts once, and says when to look again. Failures
// are in the status and are retried: a machine has no caller to return them to.
func (f *Follower) Turn(ctx context.Context) time.Duration {
	now := f.Now()
	var errs []error
	if now.Sub(f.looked) >= f.pollInterval() {
		f.looked = now
		errs = append(errs, f.readManifest(ctx))
	}
	seen, err := f.checkMaster(ctx)
	errs = append(errs, err)
	act := Decide(f.state, seen, f.Arch, Patience, now)
	if act != Keep && err == nil {
		if err := f.carryOut(ctx, act); err != nil {
			errs = append(errs, err)
		} else if seen, err = f.checkMaster(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	f.rememberGood(seen)
	f.noteTrouble(errors.Join(errs...))
	f.reportStatus(ctx, seen, now)
	return f.nextPause(seen, now)
}

// nextPause is short while a master is being started, because a user waits for it, and
// grows with the time that it takes.
func (f *Follower) nextPause(seen Seen, now time.Time) time.Duration {
	a := f.state.Applied
	if a == nil || a.Phase == manifest.Stop || seen.Well || !f.isStarting(now) {
		return f.pollInterval()
	}
	return min(f.pollInterval(), max(time.Second, now.Sub(f.state.Started)/10))
}

// pollInterval is how often the manifest is read.
func (f *Follower) pollInterval() time.Duration {
	if a := f.state.Applied; a != nil && a.Phase == manifest.Serve {
		return Every
	}
	return EveryBusy
}

// isStarting reports whether an unhealthy master may still be starting.
func (f *Follower) isStarting(now time.Time) bool {
	return now.Sub(f.state.Started) < Patience && !f.final
}

// readManifest asks for the manifest. One that this machine cannot carry out changes
// nothing here.
func (f *Follower) readManifest(ctx context.Context) error {
	data, mark, err := f.Bucket.Changed(ctx, manifest.Key, f.mark)
	if err != nil {
		return fmt.Errorf("read %s: %w", manifest.Key, err)
	}
	if data == nil {
		return nil
	}
	m, err := manifest.Parse(data)
	if err != nil {
		return err
	}
	_, found := m.Binaries[f.Arch]
	switch {
	case m.Cluster != f.Cluster:
		return fmt.Errorf("read %s: it is for cluster %s, this machine is of %s", manifest.Key, m.Cluster, f.Cluster)
	case !found:
		return fmt.Errorf("read %s: it has no program for %s", manifest.Key, f.Arch)
	case f.state.Wanted != nil && m.Generation < f.state.Wanted.Generation:
		return fmt.Errorf("read %s: generation %d is older than %d, which this machine knows", manifest.Key, m.Generation, f.state.Wanted.Generation)
	}
	f.state.Wanted, f.mark = &m, mark
	return f.saveState()
}

func (f *Follower) checkMaster(ctx context.Context) (Seen, error) {
	f.sick, f.final = "", false
	if f.state.Applied == nil {
		return Seen{}, nil
	}
	running, err := f.Units.Running(ctx, Unit)
	if err != nil {
		return Seen{}, err
	}
	if !running {
		return Seen{}, nil
	}
	err = f.Well(ctx, f.state.Applied.Health)
	_, f.final = errors.AsType[*DownError](err)
	f.sick = errorText(err)
	return Seen{Running: true, Well: f.sick == ""}, nil
}

// rememberGood stores the manifest with which the master is healthy.
func (f *Follower) rememberGood(seen Seen) {
	a := f.state.Applied
	if !seen.Well || a == nil || a.Phase != manifest.Serve || f.state.Good != nil && f.state.Good.Generation == a.Generation {
		return
	}
	f.Log.Info("the master serves", "version", a.Version, "generation", a.Generation)
	f.state.Good = a
	f.noteTrouble(errors.Join(f.saveState(), f.pruneFiles()))
}

// isReplaced reports whether the master has been healthy with another program than the one that runs here.
func (f *Follower) isReplaced() bool {
	g := f.state.Good
	if g == nil || g != f.state.Applied || filepath.Dir(filepath.Dir(f.Self)) != f.rootPath(binDir) {
		return false
	}
	return f.Self != f.binaryPath(g.Binaries[f.Arch])
}

func (f *Follower) notifyApplied(m manifest.Manifest) {
	if f.Tell != nil && f.Tell(m) {
		f.anew = true
	}
}

// noteTrouble logs an error when it is new, and when it has ended.
func (f *Follower) noteTrouble(err error) {
	was := f.trouble
	f.trouble = errorText(err)
	switch {
	case f.trouble == was:
	case err != nil:
		f.Log.Warn("the master's machine is not as wanted", "err", err)
	default:
		f.Log.Info("recovered")
	}
}

// errorText is an error's text, empty without an error.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
