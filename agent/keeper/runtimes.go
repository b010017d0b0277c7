package keeper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/docker"
	"github.com/det-deploy/det-deploy/agent/container/process"
)

// runtimes are those in which an agent's containers may be: an agent may have had
// another runtime before.
type runtimes struct {
	processes *process.Runtime // nil where there never was a process
	docker    *docker.Runtime  // nil where there is none, or it does not answer
	// err is why one cannot be asked.
	err error
}

// openRuntimes connects for as long as something is to be ended, and no longer.
func openRuntimes(ctx context.Context, cfg Config) *runtimes {
	r := &runtimes{}
	dir := filepath.Join(cfg.DataDir, "processes")
	if _, err := os.Stat(dir); err == nil {
		r.processes, r.err = process.New(process.Options{Dir: dir})
	}
	if cfg.Docker {
		d, err := docker.New(ctx, docker.Options{Host: cfg.DockerHost})
		if err != nil {
			r.err = fmt.Errorf("reach the engine of the agent's containers: %w", err)
		}
		r.docker = d
	}
	return r
}

func (r *runtimes) close() {
	if r.docker != nil {
		_ = r.docker.Close() // containers go on
	}
}

// of is the runtime that has a container: what no directory of a process stands for
// is an engine's.
func (r *runtimes) of(ctx context.Context, id string) (container.Runtime, container.Phase, error) {
	if r.processes != nil {
		s, err := r.processes.Inspect(ctx, id)
		if err != nil || s.Phase != container.Absent {
			return r.processes, s.Phase, err
		}
	}
	if r.docker != nil {
		s, err := r.docker.Inspect(ctx, id)
		return r.docker, s.Phase, err
	}
	return nil, container.Absent, r.err
}

// phase is "" for a container of which nothing can be learned.
func (r *runtimes) phase(ctx context.Context, id string) (container.Phase, error) {
	_, phase, err := r.of(ctx, id)
	if err != nil {
		return "", err
	}
	return phase, nil
}

// kill ends a container; one that has none any more is not an error.
func (r *runtimes) kill(ctx context.Context, id string) error {
	in, _, err := r.of(ctx, id)
	if in == nil {
		return err
	}
	return in.Signal(ctx, id, container.Kill)
}
