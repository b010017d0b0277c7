package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/launcher"
	mlog "github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

const (
	// ringSize is how many lines of its own log a master shows; at some 200
	// bytes a line, 2 MB.
	ringSize = 10_000
	// sweepEvery is how often what has expired is deleted. Nothing but space
	// depends on it.
	sweepEvery = 10 * time.Minute
)

// MasterOptions is how a master is run.
type MasterOptions struct {
	// Out receives the master's own log; Terminal is true where a person reads it.
	Out      io.Writer
	Terminal bool
	// OnHold makes a master that tries its store on a copy, says what came of it,
	// and does nothing else.
	OnHold bool
}

// RunMaster runs a master until ctx ends.
func RunMaster(ctx context.Context, cfg config.Master, o MasterOptions) (err error) {
	ring := server.NewRing(ringSize, logHandler(o.Out, cfg.Log.Level, cfg.Log.Color, o.Terminal))
	log := slog.New(ring)
	if err := checkEncryption(cfg); err != nil {
		return err
	}
	certificate, err := certificate(ctx, cfg)
	if err != nil {
		return err
	}
	binaries, err := openBinaries(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, binaries.Close()) }()
	// The port before the store: a second master by mistake is refused while
	// it has touched nothing.
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(cfg.BindIP, strconv.Itoa(cfg.ListenPort())))
	if err != nil {
		return fmt.Errorf("listen for clients and agents: %w", err)
	}
	defer l.Close() //nolint:errcheck // the server has closed it, or nobody used it
	if o.OnHold {
		return runHold(ctx, cfg, l, binaries, server.Config{Identity: identity(cfg, binaries, ""), Certificate: certificate, Log: log})
	}
	if err := forgetRehearsal(cfg); err != nil {
		return err
	}
	s, lease, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	m, err := assemble(ctx, cfg, ground{s, lease, ring, binaries, certificate})
	if err == nil {
		err = recordStart(ctx, s, m.audit, cfg)
	}
	if err == nil {
		m.config.Certificate = certificate
		err = m.run(ctx, l)
	}
	return errors.Join(err, s.Close())
}

// openStore opens the store for writing and takes its lease. The lease's owner
// is the installation, so that a master that was killed takes over from itself
// at once.
func openStore(ctx context.Context, cfg config.Master, log *slog.Logger) (*store.Store, *store.Lease, error) {
	sc, err := storeConfig(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	s, err := openPatiently(ctx, sc, log)
	if err != nil {
		return nil, nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	lease, err := s.Acquire(ctx, host+":"+dir)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, lease, nil
}

// master is the parts of a running master.
type master struct {
	cfg    config.Master
	log    *slog.Logger
	lease  *store.Lease
	auth   *auth.Auth
	logs   *mlog.Logs
	tasks  *task.Tasks
	runs   runner
	launch *launcher.Launchers
	doors  admissions
	audit  *audit.Log
	config server.Config
}

// runner is who runs the tasks: agents, or Kubernetes.
type runner interface {
	rm.ResourceManager
	rm.Machines
	// Restore reads what an earlier one has stored, and Run works until ctx ends.
	Restore(ctx context.Context) error
	Run(ctx context.Context) error
	// Ready says why it does not do its work; it may wait until ctx ends to find out.
	Ready(ctx context.Context) error
}

// ground is what a master stands on.
type ground struct {
	store    *store.Store
	lease    *store.Lease
	ring     *server.Ring
	binaries *server.Binaries
	// certificate is nil without TLS.
	certificate server.CertificateSource
}

// assemble puts a master together on a store, up to the point where it begins to
// act: nothing outside the store is changed, so that it may be done on a copy.
func assemble(ctx context.Context, cfg config.Master, g ground) (*master, error) {
	s := g.store
	m := &master{cfg: cfg, log: slog.New(g.ring), lease: g.lease}
	admin, determined, err := firstPasswords(ctx, cfg.Security)
	if err != nil {
		return nil, err
	}
	here := site{cfg: cfg, clusterID: s.Meta().ClusterID, log: m.log, certificate: g.certificate, programs: g.binaries.Hashes()}
	takes, err := here.attestors()
	if err != nil {
		return nil, err
	}
	m.auth, err = auth.Open(ctx, auth.Config{
		Store: s, InitialPassword: admin, DeterminedPassword: determined, Attestors: takes,
		AllowBlankPassword: cfg.Security.AllowBlankPassword, MostSessions: cfg.Security.Limits.SessionsPerUser, Log: m.log,
	})
	if err != nil {
		return nil, err
	}
	m.audit, err = audit.Open(ctx, audit.Config{Store: s, Keep: cfg.Security.Audit.Keep(), Log: m.log})
	if err != nil {
		return nil, err
	}
	whole, err := withRegistries(ctx, cfg, resolver())
	if err != nil {
		return nil, err
	}
	m.logs = mlog.New(ctx, s)
	m.logs.LimitTask(int64(cfg.Security.Limits.LogPerTask))
	m.tasks, err = task.Open(ctx, task.Config{
		Store: s, Logs: m.logs, Tokens: m.auth, Log: m.log,
		Defaults: taskDefaults(whole), Policy: taskPolicies(whole), DefaultUser: cfg.Security.DefaultTask, LaunchError: cfg.LaunchError,
		AdministratorsOnly: !cfg.Security.TrustUsers,
		Limits:             taskLimits(cfg.Security.Limits),
	})
	if err != nil {
		return nil, err
	}
	id := identity(cfg, g.binaries, s.Meta().ClusterID)
	m.launch, err = newLaunchers(ctx, here, s)
	if err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	if err := metrics.Register(m.launch.Metrics()); err != nil {
		return nil, fmt.Errorf("register the metrics of machines: %w", err)
	}
	m.config = server.Config{
		Identity: id, Accounts: m.auth, Tasks: front{m.tasks}, Logs: front{m.tasks}, Launches: m.launch,
		MasterLog: g.ring, Binaries: g.binaries, Settings: cfg.Printable, FeatureSwitches: cfg.FeatureSwitches,
		Health: m.healthy, Readiness: server.NewReadiness(m.log, m.checks(s)...), Log: m.log, Metrics: metrics, Audit: auditFront{m.audit},
		PrivateLogs: cfg.Security.Visibility == config.VisibilityPrivate, CORS: cfg.EnableCORS, HideMetrics: !cfg.Observability.EnablePrometheus,
		TrustedProxies: cfg.Security.Proxies.Prefixes(), Limits: serverLimits(cfg.Security.Limits),
		SpoolDir: cfg.DataDir,
	}
	if err := m.choose(here, s, id); err != nil {
		return nil, err
	}
	m.config.Queue, m.config.Machines = m.runs, m.runs
	m.doors = admissions{Auth: m.auth, launch: m.launch}
	if on, ok := m.runs.(*agentrm.RM); ok {
		m.doors.expel = on.Expel
	}
	m.config.Admissions = m.doors
	return m, errors.Join(m.launch.Restore(ctx), m.runs.Restore(ctx))
}

// choose makes the resource manager that the configuration names.
func (m *master) choose(s site, st *store.Store, id server.Identity) error {
	if m.cfg.ResourceManager.Kubernetes != nil {
		on, err := m.newPods(s, st, id)
		if err != nil {
			return err
		}
		m.runs = on
		if err := m.config.Metrics.Register(on.Metrics()); err != nil {
			return fmt.Errorf("register the metrics of pods: %w", err)
		}
		return nil
	}
	told, err := launchedPools(m.cfg, m.log)
	if err != nil {
		return err
	}
	names := m.cfg.ResourceManager.Pools()
	agents, err := agentrm.New(launching(telling(agentrm.Config{
		Log: m.log, Store: st, Gate: auditedGate{gate{m.auth, m.known}, m.audit}, Tasks: m.tasks, Logs: m.tasks,
		Pools: pools(m.cfg), DefaultAux: names.Aux, DefaultCompute: names.Compute,
		ClusterID: id.ClusterID, ClusterName: id.ClusterName, MasterID: id.MasterID, Version: id.Version,
		Programs: s.programs, Limits: linkLimits(m.cfg.Security.Limits), Admitted: server.MarkKnown,
	}, told), m.launch))
	if err != nil {
		return err
	}
	m.launch.Attach(agents)
	m.runs, m.config.Agents = agents, agents
	return nil
}

// run starts every loop and returns when the first has stopped and all have.
func (m *master) run(ctx context.Context, l net.Listener) error {
	defer m.logs.Close()
	front, err := server.New(m.config) //nolint:contextcheck // its handlers get the context of each request
	if err != nil {
		return err
	}
	// Tasks before agents and pods: what is reported of them must find its task.
	if err := m.tasks.Attach(ctx, m.runs); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return m.runs.Run(ctx) })
	g.Go(func() error { return m.launch.Run(ctx) })
	g.Go(func() error { return front.Run(ctx, l) })
	g.Go(func() error { return m.watchLease(ctx) })
	g.Go(func() error { m.config.Readiness.Run(ctx); return nil })
	g.Go(func() error { m.sweep(ctx); return nil })
	g.Go(func() error { m.audit.Run(ctx); return nil })
	g.Go(func() error { m.endStrays(ctx); return nil })
	g.Go(func() error { giveBack(ctx); return nil })
	return g.Wait()
}

// endStrays is not the master's life's work: it is tried again when it starts the
// next time.
func (m *master) endStrays(ctx context.Context) {
	ended := func(pool string, id cloud.InstanceID) error {
		return m.launch.Ended(ctx, pool, id, "its pool launches no machines any more")
	}
	if err := endStrays(ctx, m.cfg, ended, m.log); err != nil && ctx.Err() == nil {
		m.log.Warn("end machines of pools that are no more", "err", err)
	}
}

// known is what was launched.
func (m *master) known() auth.Launches { return m.launch }

// healthy says why this master cannot work.
func (m *master) healthy(context.Context) error { return m.lease.Err() }

// checks are what this master needs to be ready.
func (m *master) checks(s *store.Store) []server.Check {
	return []server.Check{
		{Name: "lease", Failure: "another master has taken over", Ask: m.healthy},
		{Name: "store", Failure: "it cannot be written; see the master's log", Ask: s.Probe},
		{Name: "resource_manager", Failure: "it does not place tasks; see the master's log", Ask: func(ctx context.Context) error { return m.runs.Ready(ctx) }},
	}
}

// watchLease stops a master that another one has taken over from.
func (m *master) watchLease(ctx context.Context) error {
	select {
	case <-m.lease.Lost():
		return m.lease.Err()
	case <-ctx.Done():
		return nil
	}
}

func (m *master) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	m.doors.endRevoked()
	for {
		_, err := m.tasks.Collect(ctx, time.Now(), m.cfg.RetentionPolicy.Keep())
		if err = errors.Join(err, m.auth.Sweep(ctx), m.auth.ForgetMachines(ctx, m.launch), m.audit.Sweep(ctx)); err != nil && ctx.Err() == nil {
			m.log.Warn("delete what has expired", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// taskPolicies is what tasks of each pool may do.
func taskPolicies(cfg config.Master) func(pool string) policy.Policy {
	all := make(map[string]policy.Policy, len(cfg.ResourcePools))
	for _, p := range cfg.ResourcePools {
		all[p.Name] = cfg.Policy(p)
	}
	return func(pool string) policy.Policy {
		if p, found := all[pool]; found {
			return p
		}
		return cfg.Policy(config.Pool{})
	}
}

// taskDefaults is what containers of each pool get.
func taskDefaults(cfg config.Master) func(pool string) config.TaskContainerDefaults {
	all := make(map[string]config.TaskContainerDefaults, len(cfg.ResourcePools))
	for _, p := range cfg.ResourcePools {
		all[p.Name] = p.EffectiveTaskContainer(cfg.TaskContainerDefaults)
	}
	return func(pool string) config.TaskContainerDefaults {
		if d, found := all[pool]; found {
			return d
		}
		return cfg.TaskContainerDefaults
	}
}
