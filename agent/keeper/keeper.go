// Package keeper is the small process beside an agent that ends what its master starts
// elsewhere, once it does not hear of the agent for too long. An agent that runs does that
// itself; its keeper does when the agent is stopped, or was killed and is not started
// again. It outlives its agent, and the next agent puts one of its own in its place.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/gofrs/flock"

	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/agent/lease"
)

// Config says whose keeper a process is.
type Config struct {
	// DataDir is the agent's, as the agent spells it.
	DataDir string
	// Docker says that containers may be an engine's, and DockerHost which; empty takes
	// DOCKER_HOST, or the usual socket.
	Docker     bool
	DockerHost string
	// Lease is what its agent shares of the lease.
	Lease *os.File
	Log   *slog.Logger
}

// askPatience bounds each single thing that is asked of a runtime.
const askPatience = 10 * time.Second

// smallHeap is how much of what it has in use a keeper's heap may grow, in percent:
// it waits nearly always.
const smallHeap = 10

// keeper is one that runs.
type keeper struct {
	cfg   Config
	lease *lease.Reader
	timer *timer
	says  says
	// patience is askPatience.
	patience time.Duration
	// looks counts those one after another that found something to end.
	looks int
}

// Run keeps the lease of an agent until nothing is left to do, or ctx ends.
func Run(ctx context.Context, cfg Config) error {
	r, err := lease.NewReader(cfg.Lease, cfg.DataDir)
	if err != nil {
		return fmt.Errorf("%w; only an agent starts its keeper", err)
	}
	t, err := newTimer()
	if err != nil {
		return err
	}
	defer t.close()
	held, err := holdLock(ctx, cfg.DataDir)
	if err != nil {
		return fmt.Errorf("keep data_dir %s: %w", cfg.DataDir, err)
	}
	defer func() { _ = held.Close() }()
	k := &keeper{cfg: cfg, lease: r, timer: t, says: says{log: cfg.Log}, patience: askPatience}
	cfg.Log.Info("keeping the lease of an agent", "data_dir", cfg.DataDir)
	debug.SetGCPercent(smallHeap)
	debug.FreeOSMemory()
	for {
		s := k.takeStep(ctx)
		if s.leave {
			cfg.Log.Info("the lease has ended, and no task is left that is run again elsewhere")
			return nil
		}
		if err := k.timer.waitUntil(ctx, s.at); err != nil {
			return err
		}
	}
}

// takeStep does what is due now.
func (k *keeper) takeStep(ctx context.Context) step {
	logFile(k.cfg.DataDir).Begin()
	term, s := k.readLease()
	if !s.look {
		k.resetCounts()
		return s
	}
	began := lease.Now()
	r := openRuntimes(ctx, k.cfg, k.patience)
	defer r.close()
	entries, err := disk.Reruns(k.cfg.DataDir)
	if err = errors.Join(err, r.err); err != nil {
		// What can be seen is ended all the same.
		k.says.warnOnce("cannot see all of what is to be ended, trying again", "err", err)
	}
	seen := scene{phases: k.endAll(ctx, r, entries), agent: agentHolds(k.cfg.DataDir), looks: k.looks}
	if _, s := k.readLease(); !s.look {
		k.resetCounts()
		return s
	}
	s = decideStep(term, seen, began)
	s.leave = s.leave && err == nil
	s.at += lease.Now() - began
	k.looks++
	return s
}

// readLease reads the lease, and says whether it is over; one that cannot be read is not.
func (k *keeper) readLease() (lease.Term, step) {
	now := lease.Now()
	term, err := k.lease.Term()
	if err != nil {
		k.says.warnOnce("cannot read the lease, trying again", "err", err)
		return term, step{at: now + endLook}
	}
	return term, waitStep(term, now)
}

// resetCounts clears what was counted and logged while a lease was expired.
func (k *keeper) resetCounts() {
	k.looks = 0
	k.says.forgetWarnings()
}

// agentHolds says whether an agent has the data_dir. Shared, and for a moment: agents
// try again.
func agentHolds(dir string) bool {
	l := flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_RDONLY))
	defer func() { _ = l.Close() }()
	free, err := l.TryRLock()
	return err == nil && !free
}
