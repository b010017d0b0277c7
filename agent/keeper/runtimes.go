package keeper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/docker"
	"github.com/det-deploy/det-deploy/agent/container/process"
)

// runtimes are those in which an agent's containers may be: an agent may have had
// another runtime before.
type runtimes struct {
	processes *process.Runtime // nil where there never was a process
	// engine is nil where none is used. It is asked when a container may be its: one
	// that does not answer holds up no process.
	engine func() (*docker.Runtime, error)
	docker *docker.Runtime // nil where it was not asked, or does not answer
	// err is why processes cannot be asked.
	err error
}

// openRuntimes connects for as long as something is to be ended, and no longer. An
// engine has so long to say that it is there.
func openRuntimes(ctx context.Context, cfg Config, patience time.Duration) *runtimes {
	r := &runtimes{}
	dir := filepath.Join(cfg.DataDir, "processes")
	if _, err := os.Stat(dir); err == nil {
		r.processes, r.err = process.New(process.Options{Dir: dir})
	}
	if cfg.Docker {
		r.engine = sync.OnceValues(func() (*docker.Runtime, error) { return r.connectEngine(ctx, cfg, patience) })
	}
	return r
}

// connectEngine connects to the engine for all containers, whichever is looked at first.
func (r *runtimes) connectEngine(ctx context.Context, cfg Config, patience time.Duration) (*docker.Runtime, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := docker.Reach(ctx, docker.Options{Host: cfg.DockerHost})
	if err != nil {
		return nil, fmt.Errorf("reach the engine of the agent's containers: %w", err)
	}
	r.docker = d
	return d, nil
}

func (r *runtimes) close() {
	if r.docker != nil {
		_ = r.docker.Close() // containers go on
	}
}

// runtimeOf is the runtime that has a container: what no directory of a process stands for
// is an engine's. It is nil where that cannot be reached.
func (r *runtimes) runtimeOf(ctx context.Context, id string) (container.Runtime, container.Phase, error) {
	if r.processes != nil {
		s, err := r.processes.Inspect(ctx, id)
		if err != nil || s.Phase != container.Absent {
			return r.processes, s.Phase, err
		}
	}
	if r.engine == nil {
		return nil, container.Absent, r.err
	}
	d, err := r.engine()
	if err != nil {
		return nil, "", err
	}
	s, err := d.Inspect(ctx, id)
	return d, s.Phase, err
}
