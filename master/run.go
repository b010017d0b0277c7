package master

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/server"
)

// sweepEvery is how often what has expired is deleted. Nothing but space depends
// on it.
const sweepEvery = 10 * time.Minute

// Run starts every loop and returns when the first has stopped and all have.
func (m *Master) Run(ctx context.Context) error {
	if err := m.recordStart(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	s, err := server.New(m.server)
	if err != nil {
		return err
	}
	// Tasks before agents and pods: what is reported of them must find its task.
	if err := m.tasks.Attach(ctx, m.rm); err != nil {
		return unlessStopped(ctx, err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{
		m.rm.Run,
		m.launchers.Run,
		m.experiments.Reconcile,
		m.checkpoints.Run,
		func(ctx context.Context) error { return s.Run(ctx, m.listener) },
		m.watchLease,
	} {
		g.Go(func() error { return run(ctx) })
	}
	for _, run := range []func(context.Context){m.server.Readiness.Run, m.sweepExpired, m.workspaces.Run, m.audit.Run, m.endOrphans} {
		g.Go(func() error { run(ctx); return nil })
	}
	return g.Wait()
}

// unlessStopped is what keeps a master from running. To be stopped while it starts is no error, as
// to be stopped later.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was asked to stop
	}
	return err
}

// watchLease stops a master that another one has taken over from.
func (m *Master) watchLease(ctx context.Context) error {
	select {
	case <-m.lease.Lost():
		return m.lease.Err()
	case <-ctx.Done():
		return nil
	}
}

// sweepExpired deletes tasks, sessions and entries whose time is over.
func (m *Master) sweepExpired(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	m.admissions.EndRevoked()
	for {
		_, err := m.tasks.Collect(ctx, time.Now(), m.parts.Config.RetentionPolicy.Keep())
		err = errors.Join(err, m.experiments.SweepLogs(ctx, time.Now(), logDays(m.parts.Config.RetentionPolicy)), m.auth.Sweep(ctx), m.auth.ForgetMachines(ctx, m.launchers), m.audit.Sweep(ctx))
		if err != nil && ctx.Err() == nil {
			m.log.Warn("cannot delete what has expired", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// endOrphans ends machines of pools that the configuration no longer has. A failure
// does not end the master: it tries again when it starts the next time.
func (m *Master) endOrphans(ctx context.Context) {
	ended := func(pool string, id cloud.InstanceID) error {
		return m.launchers.Ended(ctx, pool, id, "its pool launches no machines any more")
	}
	for name, p := range m.parts.Providers {
		o, ok := p.(OrphanEnder)
		if !ok {
			continue
		}
		if err := o.EndOrphans(ctx, m.env, ended); err != nil && ctx.Err() == nil {
			m.log.Warn("cannot end machines of removed pools", "provider", name, "err", err)
		}
	}
}
