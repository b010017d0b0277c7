// Package master assembles a master from its parts and runs it: the HTTP server,
// tasks, users, logs, and what runs the tasks and launches machines for them.
package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/admission"
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	checkpointview "github.com/det-deploy/det-deploy/master/checkpoint/view"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/harness"
	"github.com/det-deploy/det-deploy/master/launcher"
	mlog "github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/model"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/template"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// Master is a master with all of its parts.
type Master struct {
	*deps

	listener net.Listener
	auth     *auth.Auth
	audit    *audit.Log
	logs     *mlog.Logs
	quota    *quota.Quota
	wheels   harness.Wheels
	tasks    *task.Tasks
	// What tasks and experiments belong to, begin with and lead to.
	workspaces *workspace.Workspaces
	templates  *template.Templates
	models     *model.Models
	// experiments own the tasks of their trials; trialMetrics is what these report, and
	// checkpoints what they save.
	experiments  *experiment.Experiments
	trialMetrics *metric.Metrics
	checkpoints  *checkpoint.Checkpoints
	// checkpointView is how clients see them.
	checkpointView *checkpointview.Checkpoints
	launchers      *launcher.Launchers
	metrics        *prometheus.Registry
	// rm runs the tasks. It is agents, unless they run on Kubernetes.
	rm         ResourceManager
	agents     *agentrm.RM
	admissions admission.API
	server     server.Config
}

// New listens, opens the store and assembles a master on it. The port comes before the
// store, so that a second master which is started by mistake is refused while it has
// touched nothing. The caller must call Close.
func New(ctx context.Context, p Parts) (*Master, error) {
	if err := certificate.CheckEncryption(p.Config); err != nil {
		return nil, err
	}
	d, err := openDeps(ctx, p)
	if err != nil {
		return nil, err
	}
	l, err := listenAll(ctx, p.Config.BindIP, p.Config.ListenPort())
	if err != nil {
		return nil, errors.Join(err, d.closeAll())
	}
	m, err := openMaster(ctx, d)
	if err != nil {
		return nil, errors.Join(err, l.Close(), d.closeAll())
	}
	m.listener = l
	return m, nil
}

// openMaster opens the store for writing and assembles a master on it.
func openMaster(ctx context.Context, d *deps) (*Master, error) {
	if err := removeRehearsal(d.parts.Config); err != nil {
		return nil, err
	}
	if err := d.openStore(ctx); err != nil {
		return nil, err
	}
	return assembleMaster(ctx, d)
}

func listenAll(ctx context.Context, address string, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for clients and agents: %w", err)
	}
	return l, nil
}

// Addr is where the master listens.
func (m *Master) Addr() net.Addr { return m.listener.Addr() }

// Close closes everything that New opened. Run must have returned.
func (m *Master) Close() error {
	m.closeLogs()
	_ = m.listener.Close() // the server has closed it if it ran
	return m.closeAll()
}

func (m *Master) closeLogs() {
	if m.logs != nil {
		m.logs.Close()
	}
}

// assembleMaster makes the parts of a master, up to the point where it begins to act:
// nothing outside the store is changed, so that it may be done on a copy.
func assembleMaster(ctx context.Context, d *deps) (*Master, error) {
	m := &Master{deps: d, metrics: prometheus.NewRegistry()}
	for _, open := range []func(context.Context) error{
		m.openAccounts, m.openWorkspaces, m.openTasks, m.openExperiments, m.openLaunchers, m.openResourceManager, m.attachWorkspaces, m.configureServer, m.restoreState,
	} {
		if err := open(ctx); err != nil {
			m.closeLogs()
			return nil, err
		}
	}
	return m, nil
}

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
