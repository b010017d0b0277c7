package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/companion"
	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// tendPause is how often an agent looks after its keeper.
	tendPause = time.Second
	// idleMost is how long a keeper stays that has nothing to keep: starting one costs
	// more than leaving it between two tasks.
	idleMost = time.Minute
	// holdPatience is how long one that was started may take to become the keeper before
	// its agent says so.
	holdPatience = 3 * time.Second
	// againMost is the longest pause before a keeper is started that cannot be.
	againMost = time.Minute
)

// LeaseFD is the descriptor of the lease in a keeper.
const LeaseFD = 3

// Child is an agent's keeper as the agent sees it.
type Child struct {
	// Command is what this program is called with to be a keeper; without one there is
	// none.
	Command []string
	Config  Config
	Lease   *lease.Lease

	mu sync.Mutex // guards what follows
	// pid is the keeper's, or 0.
	pid int
	// before is the keeper of an earlier program in this very process, which has to
	// take in its end; 0 is none. found says that it was looked for.
	before int
	found  bool
}

// Ensure starts the keeper unless it runs, and waits until it is one.
func (c *Child) Ensure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.Command) == 0 || c.pid != 0 && !hasEnded(c.pid) {
		return nil
	}
	c.pid = 0
	c.findBefore()
	log := logFile(c.Config.DataDir)
	said := log.Size()
	pid, err := c.startKeeper()
	if err != nil {
		return fmt.Errorf("start the agent's keeper: %w", err)
	}
	c.pid = pid
	return c.awaitHold(said)
}

// awaitHold waits until the child is the keeper; what it says in the log begins at said.
func (c *Child) awaitHold(said int64) error {
	for end := time.Now().Add(holdPatience); time.Now().Before(end); <-time.After(endPause) {
		if Holder(c.Config.DataDir) == c.pid {
			return nil
		}
		if hasEnded(c.pid) {
			c.pid = 0
			return fmt.Errorf("the agent's keeper ended at once: %s", logFile(c.Config.DataDir).LastWords(said))
		}
	}
	return fmt.Errorf("the agent's keeper has not begun within %s: %s", holdPatience, logFile(c.Config.DataDir).LastWords(said))
}

// findBefore looks once for the keeper of an earlier program in this process: only the
// first program that looks can be the one that has none of its own yet.
func (c *Child) findBefore() {
	if c.found {
		return
	}
	c.found = true
	if pid := Holder(c.Config.DataDir); pid != 0 && !hasEnded(pid) {
		c.before = pid
	}
}

// startKeeper runs this very program.
func (c *Child) startKeeper() (pid int, err error) {
	args := append(append([]string{}, c.Command...), "--data-dir", c.Config.DataDir)
	if c.Config.Docker {
		args = append(args, "--docker")
	}
	if c.Config.DockerHost != "" {
		args = append(args, "--docker-host", c.Config.DockerHost)
	}
	return companion.Companion{Args: args, File: c.Lease.Shared(), Log: logFile(c.Config.DataDir), Needs: reachesEngine}.Start()
}

// reachesEngine says which variables a keeper needs to reach an engine.
func reachesEngine(key string) bool {
	return key == "PATH" || key == "HOME" || strings.HasPrefix(key, "DOCKER_")
}

// Tend starts the keeper when it is needed and gone, and ends it when it was not needed
// for a while, until ctx ends.
func (c *Child) Tend(ctx context.Context, log *slog.Logger, needed func() bool) {
	c.mu.Lock()
	c.findBefore()
	c.mu.Unlock()
	var b backoff
	var idle time.Time
	for now := time.Now(); ; {
		need := needed()
		if c.reapKeeper() && need {
			b.failed(now)
			log.Warn("the keeper of this agent has ended; starting it again", "pause", b.pause)
		}
		switch {
		case need && !now.Before(b.due):
			idle = now
			if err := c.Ensure(); err != nil {
				b.failed(now)
				log.Warn("tasks that are run again elsewhere would outlive a stop of this agent; trying again", "err", err, "pause", b.pause)
			}
		case !need && now.Sub(idle) > idleMost:
			idle = now
			c.dismissKeeper(ctx, log, needed)
		}
		if wait.For(ctx, tendPause) != nil {
			c.dismissKeeper(context.WithoutCancel(ctx), log, needed)
			return
		}
		now = time.Now()
	}
}

// backoff is when a keeper is started again that ends, or that cannot be started.
type backoff struct {
	last, due time.Time
	pause     time.Duration
}

// failed puts the next start off: twice as long each time, and not at all when the last
// failure is long ago.
func (b *backoff) failed(now time.Time) {
	b.pause = min(max(2*b.pause, tendPause), againMost)
	if now.Sub(b.last) > 2*againMost {
		b.pause = 0
	}
	b.last, b.due = now, now.Add(b.pause)
}

// dismissKeeper ends a keeper that this agent started, or that an earlier one left, unless it
// is needed: who needs one says so before it asks for it.
func (c *Child) dismissKeeper(ctx context.Context, log *slog.Logger, needed func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.Command) == 0 || needed() {
		return
	}
	if err := End(ctx, c.Config.DataDir); err != nil {
		log.Warn("cannot end the keeper of this agent", "err", err)
		return
	}
	if c.pid != 0 {
		_ = unix.Kill(c.pid, unix.SIGKILL) // it may not have had the time to become the holder
		_, _ = unix.Wait4(c.pid, nil, 0, nil)
	}
	c.pid = 0
}

// reapKeeper reaps ended children without waiting, and returns whether the keeper was one.
func (c *Child) reapKeeper() (ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.before != 0 && hasEnded(c.before) {
		c.before = 0
	}
	if c.pid != 0 && hasEnded(c.pid) {
		c.pid, ended = 0, true
	}
	return ended
}

// hasEnded says that a process has ended, or is not a child of this one.
func hasEnded(pid int) bool {
	got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return got == pid || errors.Is(err, unix.ECHILD)
}
