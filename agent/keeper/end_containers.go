package keeper

import (
	"context"
	"sync"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/disk"
)

// endAll looks at all containers and ends those that run, each by itself: an engine that
// does not answer for one holds up no other. It says in which phase each was.
func (k *keeper) endAll(ctx context.Context, r *runtimes, entries []disk.Entry) map[string]container.Phase {
	phases := make([]container.Phase, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() { phases[i] = k.endOne(ctx, r, e) })
	}
	all.Wait()
	byID := map[string]container.Phase{}
	for i, e := range entries {
		byID[e.ID()] = phases[i]
	}
	return byID
}

// endOne ends a container, unless its agent has renewed the lease meanwhile. The phase
// is the one before.
func (k *keeper) endOne(ctx context.Context, r *runtimes, e disk.Entry) container.Phase {
	in, phase := k.inspectContainer(ctx, r, e.ID())
	do := decideDeed(phase)
	if _, s := k.readLease(); !do.silence || !s.look {
		return phase
	}
	if err := e.Silence(); err != nil {
		// It must end all the same.
		k.says.warnOnce("a container's end will look like its own", "container", e.ID(), "err", err)
	}
	if do.end && in != nil {
		k.killContainer(ctx, in, e.ID())
	}
	return phase
}

// inspectContainer reads a container's state; the phase is "" for one of which nothing can be learned, and
// the runtime nil where none can be asked.
func (k *keeper) inspectContainer(ctx context.Context, r *runtimes, id string) (container.Runtime, container.Phase) {
	ctx, cancel := context.WithTimeout(ctx, k.patience)
	defer cancel()
	in, phase, err := r.runtimeOf(ctx, id)
	if err != nil {
		k.says.warnOnce("cannot look at a container, trying again", "container", id, "err", err)
		return in, ""
	}
	return in, phase
}

// killContainer has a timeout of its own: the inspection may have used up the first.
func (k *keeper) killContainer(ctx context.Context, in container.Runtime, id string) {
	ctx, cancel := context.WithTimeout(ctx, k.patience)
	defer cancel()
	k.says.warnOnce("no answer from the master; ending what it starts elsewhere", "container", id)
	if err := in.Signal(ctx, id, container.Kill); err != nil {
		k.says.warnOnce("cannot end a container, trying again", "container", id, "err", err)
	}
}
