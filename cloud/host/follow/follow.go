// Package follow keeps the master's machine in the state that the installer requests: it reads the
// cluster's manifest from the control bucket, installs the program and files, starts, holds or
// stops the master, rolls back to the last healthy configuration if allowed, and writes its status
// to the bucket.
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

// Unit is the systemd unit of the master.
const Unit = "det-deploy-master.service"

// Every is the interval at which the manifest is read. On average, a change takes effect after half
// of it.
const Every = 30 * time.Second

// EveryBusy is the interval while the installer is at work: there is no manifest yet, or the master
// is on hold or stopped.
const EveryBusy = 5 * time.Second

// Patience is the time a master may take to become healthy before it counts as failed. Checking a
// database of some gigabytes after a crash takes a minute or two.
const Patience = 3 * time.Minute

// Bucket provides access to the control bucket.
type Bucket interface {
	// Changed returns an object and its ETag or generation, or no data if the object still has the
	// given mark.
	Changed(ctx context.Context, key, mark string) (data []byte, now string, err error)
	// Fetch downloads an object.
	Fetch(ctx context.Context, key string, to io.Writer) error
	// Put writes an object.
	Put(ctx context.Context, key string, data []byte) error
}

// Units controls the machine's systemd units. It does not wait for a unit to start.
type Units interface {
	Restart(ctx context.Context, unit string) error
	Stop(ctx context.Context, unit string) error
	// Running reports whether the unit is active, activating or about to be restarted.
	Running(ctx context.Context, unit string) (bool, error)
}

// Config configures a Follower.
type Config struct {
	Cluster, Instance string
	// Arch is the architecture of the machine: "amd64".
	Arch   string
	Bucket Bucket
	Units  Units
	// Well checks the health of the master.
	Well func(context.Context, manifest.Health) error
	// Root is prepended to every path in tests. Otherwise it is empty.
	Root string
	// Self is the path of the running executable. Run returns after the master has become healthy
	// with another program, so that systemd starts that one.
	Self string
	// Tell notifies other parts of the host service of an applied manifest. If it returns true, the
	// program must restart to use the new settings, and Run returns. It may be nil.
	Tell func(manifest.Manifest) (anew bool)
	Log  *slog.Logger
	Now  func() time.Time
}

// Follower applies the manifests of one cluster.
type Follower struct {
	Config

	state   State
	mark    string
	looked  time.Time
	trouble string // error of the last turn
	sick    string // why the master is unhealthy
	final   bool   // whether the master reported this itself, so that waiting is pointless
	anew    bool   // whether the program must restart for new settings

	said   manifest.Status
	saidAt time.Time
}

// New returns a follower that continues from the state on disk.
func New(c Config) (*Follower, error) {
	f := &Follower{Config: c}
	err := atomicfile.ReadJSON(f.rootPath(stateFile), "delete it: the machine then reads the manifest from the bucket again", &f.state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the follower's state: %w", err)
	}
	if f.state.Applied != nil {
		// The machine may have been off, so the master's startup time is counted again.
		f.state.Started = f.Now()
		f.notifyApplied(*f.state.Applied)
		f.anew = false // it starts with these settings
	}
	return f, nil
}

// Run applies manifests until ctx is done, or until the program must restart because of a new
// version or new settings.
func (f *Follower) Run(ctx context.Context) error {
	for {
		next := f.Turn(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to end
		}
		if f.isReplaced() {
			f.Log.Info("program was replaced; starting the new one", "version", f.state.Applied.Version)
			return nil
		}
		if f.anew {
			f.Log.Info("settings have changed; restarting")
			return nil
		}
		if wait.For(ctx, next) != nil {
			return nil //nolint:nilerr // it was asked to stop
		}
	}
}

// Turn performs one cycle: it observes, decides and acts. It returns the pause until the next
// cycle. Errors are reported in the status and retried, because there is no caller to handle them.
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

// nextPause returns the pause until the next cycle. While a master starts, the pause is short
// because a user waits for it, and grows with the elapsed time.
func (f *Follower) nextPause(seen Seen, now time.Time) time.Duration {
	a := f.state.Applied
	if a == nil || a.Phase == manifest.Stop || seen.Well || !f.isStarting(now) {
		return f.pollInterval()
	}
	return min(f.pollInterval(), max(time.Second, now.Sub(f.state.Started)/10))
}

// pollInterval returns the interval at which the manifest is read.
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

// readManifest reads the manifest if it has changed. It rejects an invalid one without any change
// to the machine.
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
		return fmt.Errorf("read %s: it is for cluster %s, but this machine belongs to %s", manifest.Key, m.Cluster, f.Cluster)
	case !found:
		return fmt.Errorf("read %s: it has no program for architecture %s", manifest.Key, f.Arch)
	case f.state.Wanted != nil && m.Generation < f.state.Wanted.Generation:
		return fmt.Errorf("read %s: generation %d is older than the known generation %d", manifest.Key, m.Generation, f.state.Wanted.Generation)
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

// rememberGood records the applied manifest as good if the master is healthy.
func (f *Follower) rememberGood(seen Seen) {
	a := f.state.Applied
	if !seen.Well || a == nil || a.Phase != manifest.Serve || f.state.Good != nil && f.state.Good.Generation == a.Generation {
		return
	}
	f.Log.Info("the master serves", "version", a.Version, "generation", a.Generation)
	f.state.Good = a
	f.noteTrouble(errors.Join(f.saveState(), f.pruneFiles()))
}

// isReplaced reports whether the master is healthy with a program other than the running one.
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

// noteTrouble logs an error when it first occurs and when it is resolved.
func (f *Follower) noteTrouble(err error) {
	was := f.trouble
	f.trouble = errorText(err)
	switch {
	case f.trouble == was:
	case err != nil:
		f.Log.Warn("cannot apply the manifest; retrying", "err", err)
	default:
		f.Log.Info("recovered")
	}
}

// errorText returns the text of an error, or "" for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
