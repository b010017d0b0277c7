// Package master assembles a master from its parts and runs it: the HTTP server, tasks, users,
// logs, the resource manager, and the launchers of machines.
package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/admission"
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	checkpointview "github.com/det-deploy/det-deploy/master/checkpoint/view"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/harness"
	"github.com/det-deploy/det-deploy/master/launcher"
	mlog "github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/model"
	"github.com/det-deploy/det-deploy/master/notebook"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/proxy"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/shell"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/template"
	"github.com/det-deploy/det-deploy/master/tensorboard"
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
	contexts *bundle.Contexts
	wheels   harness.Wheels
	tasks    *task.Tasks
	shells   *shell.Server
	proxy    *proxy.Proxy
	// policies returns the task policy of a pool.
	policies func(pool string) policy.Policy
	// Workspaces, templates and models of tasks and experiments.
	workspaces *workspace.Workspaces
	templates  *template.Templates
	models     *model.Models
	// experiments own the tasks of their trials; trialMetrics stores the metrics of trials, and
	// checkpoints their checkpoints.
	experiments  *experiment.Experiments
	tensorBoards *tensorboard.TensorBoards
	boards       *tensorboard.Watch
	notebooks    *notebook.Watch
	trialMetrics *metric.Metrics
	checkpoints  *checkpoint.Checkpoints
	// checkpointView converts checkpoints for clients.
	checkpointView *checkpointview.Checkpoints
	launchers      *launcher.Launchers
	metrics        *prometheus.Registry
	// rm runs the tasks. It is agents, unless tasks run on Kubernetes.
	rm         ResourceManager
	agents     *agentrm.RM
	admissions admission.API
	server     server.Config
	cleaning   sync.Mutex // held by cleanUpLogs
}

// New listens, opens the store and assembles a master on it. It listens first, so that a second
// master started by mistake fails before it touches the store. The caller must call Close.
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

// Addr returns the address on which the master listens.
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

// assembleMaster creates the parts of a master, up to the point where it starts to act. It changes
// only the store, so that it can run on a copy.
func assembleMaster(ctx context.Context, d *deps) (*Master, error) {
	m := &Master{deps: d, metrics: prometheus.NewRegistry()}
	for _, open := range []func(context.Context) error{
		m.openAccounts, m.openWorkspaces, m.openTasks, m.openShells, m.openExperiments, m.openLaunchers, m.openResourceManager, m.attachWorkspaces, m.configureServer, m.restoreState,
	} {
		if err := open(ctx); err != nil {
			m.closeLogs()
			return nil, err
		}
	}
	return m, nil
}

// sweepEvery is the interval between deletions of expired data, which only save space.
const sweepEvery = 10 * time.Minute

// Run runs all loops. When one returns, it stops the others and returns when all have ended.
func (m *Master) Run(ctx context.Context) error {
	if err := m.recordStart(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	s, err := server.New(m.server)
	if err != nil {
		return err
	}
	// Tasks before agents and pods, because the reports of those refer to tasks.
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
	for _, run := range []func(context.Context){m.server.Readiness.Run, m.sweepExpired, m.workspaces.Run, m.audit.Run, m.endOrphans, m.notebooks.Run, m.boards.Run} {
		g.Go(func() error { run(ctx); return nil })
	}
	return g.Wait()
}

// unlessStopped returns nil if ctx was cancelled, because stopping a master during its start is no
// error, and err otherwise.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was asked to stop
	}
	return err
}

// watchLease returns an error when another master has taken over.
func (m *Master) watchLease(ctx context.Context) error {
	select {
	case <-m.lease.Lost():
		return m.lease.Err()
	case <-ctx.Done():
		return nil
	}
}

// sweepExpired deletes expired tasks, sessions and entries.
func (m *Master) sweepExpired(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	m.admissions.EndRevoked()
	for {
		_, err := m.cleanUpLogs(ctx)
		_, collected := m.contexts.Collect(ctx, time.Now())
		err = errors.Join(err, collected, m.auth.Sweep(ctx), m.auth.ForgetMachines(ctx, m.launchers), m.audit.Sweep(ctx))
		if err != nil && ctx.Err() == nil {
			m.log.Warn("cannot delete expired data", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// cleanUpLogs deletes expired tasks and logs, and returns the number of deleted lines.
func (m *Master) cleanUpLogs(ctx context.Context) (lines int64, err error) {
	m.cleaning.Lock()
	defer m.cleaning.Unlock()
	before, keep := m.logs.Deleted(), m.parts.Config.RetentionPolicy
	_, err = m.tasks.Collect(ctx, time.Now(), keep.Keep())
	err = errors.Join(err, m.experiments.SweepLogs(ctx, time.Now(), logDays(keep)))
	return m.logs.Deleted() - before, err
}

// endOrphans terminates machines of pools that were removed from the configuration. Errors do not
// stop the master; the next start tries again.
func (m *Master) endOrphans(ctx context.Context) {
	ended := func(pool string, id cloud.InstanceID) error {
		return m.launchers.Ended(ctx, pool, id, "its pool no longer launches machines")
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
