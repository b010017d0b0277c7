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
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
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

// askPatience bounds what is asked of a runtime at once.
const askPatience = 10 * time.Second

// smallHeap is how much of what it has in use a keeper's heap may grow, in percent:
// it waits nearly always.
const smallHeap = 10

// keeper is one that runs.
type keeper struct {
	cfg   Config
	lease *lease.Reader
	timer *timer
	// told is the last error that was said, so that it is said once.
	told string
}

// Run keeps the lease of an agent until nothing is left to do, or ctx ends.
func Run(ctx context.Context, cfg Config) error {
	r, err := lease.NewReader(cfg.Lease, cfg.DataDir)
	if err != nil {
		return fmt.Errorf("%w; an agent starts its keeper, and nobody else", err)
	}
	t, err := newTimer()
	if err != nil {
		return err
	}
	defer t.close()
	held, err := hold(ctx, cfg.DataDir)
	if err != nil {
		return fmt.Errorf("keep data_dir %s: %w", cfg.DataDir, err)
	}
	defer func() { _ = held.Close() }()
	k := &keeper{cfg: cfg, lease: r, timer: t}
	cfg.Log.Info("keeping the lease of an agent", "data_dir", cfg.DataDir)
	debug.SetGCPercent(smallHeap)
	debug.FreeOSMemory()
	for {
		s := k.act(ctx)
		if s.leave {
			cfg.Log.Info("the lease is over, and nothing is left that is run again elsewhere")
			return nil
		}
		if err := k.timer.wait(ctx, s.at); err != nil {
			return err
		}
	}
}

// act does what there is to do now.
func (k *keeper) act(ctx context.Context) step {
	now := lease.Now()
	term, err := k.lease.Term()
	if err != nil {
		k.warn("cannot read the lease, trying again", err)
		return step{at: now + endLook}
	}
	s := wait(term, now)
	if !s.look {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	r := openRuntimes(ctx, k.cfg)
	defer r.close()
	entries, err := disk.Reruns(k.cfg.DataDir)
	if err == nil {
		err = r.err
	}
	if err != nil {
		k.warn("cannot see all of what is to be ended, trying again", err)
		// What can be seen is ended all the same.
	}
	seen := k.look(ctx, r, entries)
	s = decide(term, seen, now)
	s.leave = s.leave && err == nil
	k.end(ctx, r, s, entries)
	return s
}

// look asks the runtimes.
func (k *keeper) look(ctx context.Context, r *runtimes, entries []disk.Entry) scene {
	s := scene{phases: map[string]container.Phase{}, agent: agentHolds(k.cfg.DataDir)}
	for _, e := range entries {
		phase, err := r.phase(ctx, e.ID())
		if err != nil {
			k.warn("cannot look at a container, trying again", err)
		}
		s.phases[e.ID()] = phase
	}
	return s
}

// end carries a step out, all containers at once: each may take seconds to die.
func (k *keeper) end(ctx context.Context, r *runtimes, s step, entries []disk.Entry) {
	byID := map[string]disk.Entry{}
	for _, e := range entries {
		byID[e.ID()] = e
	}
	for _, id := range s.silence {
		if err := byID[id].Silence(); err != nil {
			k.warn("a container's end will look like its own", err) // it must end all the same
		}
	}
	errs := make([]error, len(s.end))
	var all sync.WaitGroup
	for i, id := range s.end {
		k.cfg.Log.Warn("no answer from the master; ending what it starts elsewhere", "container", id)
		all.Go(func() { errs[i] = r.kill(ctx, id) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		k.warn("cannot end a container, trying again", err)
	}
}

func (k *keeper) warn(text string, err error) {
	if said := text + err.Error(); said != k.told {
		k.told = said
		k.cfg.Log.Warn(text, "err", err)
	}
}

// agentHolds says whether an agent has the data_dir. Shared, and for a moment: agents
// try again.
func agentHolds(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
