package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/admission"
	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/config/security"
	mlog "github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/task"
)

// openAccounts opens users, sessions, agents' credentials, and the audit log.
func (m *Master) openAccounts(ctx context.Context) error {
	cfg := m.parts.Config.Security
	admin, determined, err := firstPasswords(ctx, cfg, m.parts.Secrets)
	if err != nil {
		return err
	}
	attestors, err := newAttestors(m.env, m.parts.Providers)
	if err != nil {
		return err
	}
	m.auth, err = auth.Open(ctx, auth.Config{
		Store: m.store, InitialPassword: admin, DeterminedPassword: determined, Attestors: attestors,
		AllowBlankPassword: cfg.AllowBlankPassword, MostSessions: cfg.Limits.SessionsPerUser, Log: m.log,
	})
	if err != nil {
		return err
	}
	m.audit, err = audit.Open(ctx, audit.Config{Store: m.store, Keep: cfg.Audit.Keep(), Log: m.log})
	return err
}

// openTasks opens the tasks and their logs.
func (m *Master) openTasks(ctx context.Context) error {
	cfg := m.parts.Config
	resolved, err := withRegistries(ctx, cfg, m.parts.Secrets)
	if err != nil {
		return err
	}
	if resolved, err = withWheels(resolved, &m.wheels); err != nil {
		return err
	}
	former, err := m.formerMounts(ctx)
	if err != nil {
		return err
	}
	if m.quota, err = quota.Open(ctx, m.store, int64(cfg.Security.Limits.StoredPerUser)); err != nil {
		return err
	}
	m.contexts = bundle.New(bundle.Config{Store: m.store, Quota: m.quota, MaxBytes: int64(cfg.Security.Limits.ContextBytes)})
	m.policies = taskPolicies(resolved, former)
	m.logs = mlog.New(ctx, m.store)
	m.logs.LimitTask(int64(cfg.Security.Limits.LogPerTask))
	m.tasks, err = task.Open(ctx, task.Config{
		Store: m.store, Logs: m.logs, Tokens: m.auth, Log: m.log,
		Defaults: taskDefaults(resolved), Policy: m.policies, Price: m.priceAssignment, DefaultUser: cfg.Security.DefaultTask, LaunchError: cfg.LaunchError,
		AdministratorsOnly: !cfg.Security.TrustUsers, NotebookTimeout: cfg.NotebookLimit(), TensorBoardTimeout: time.Duration(cfg.TensorboardTimeout),
		WorkspaceName: m.workspaces.WorkspaceName, OpenWorkspace: m.workspaces.OpenWorkspace, Template: m.templates.Template,
		Limits: taskLimits(cfg.Security.Limits), Quota: m.quota, Contexts: m.contexts, Listed: cfg.RetentionPolicy.Listed(), MostListed: cfg.RetentionPolicy.ListedTasks,
	})
	return err
}

// openLaunchers creates the launchers of pools with a provider.
func (m *Master) openLaunchers(ctx context.Context) (err error) {
	if m.launchers, err = newLaunchers(ctx, m.env, m.parts.Providers, m.store); err != nil {
		return err
	}
	if err := m.metrics.Register(m.launchers.Metrics()); err != nil {
		return fmt.Errorf("register the metrics of machines: %w", err)
	}
	return nil
}

// openResourceManager creates the resource manager in the settings.
func (m *Master) openResourceManager(context.Context) error {
	if m.parts.Config.ResourceManager.Kubernetes != nil {
		return m.openKubernetes()
	}
	c, err := m.agentConfig()
	if err != nil {
		return err
	}
	if m.agents, err = agentrm.New(c); err != nil {
		return err
	}
	m.launchers.Attach(m.agents)
	m.rm = m.agents
	return nil
}

// restoreState reads the state of machines and tasks that an earlier master stored.
func (m *Master) restoreState(ctx context.Context) error {
	return errors.Join(m.launchers.Restore(ctx), m.rm.Restore(ctx))
}

// configureServer creates the admissions and the configuration of the HTTP server, which need all
// other parts.
func (m *Master) configureServer(context.Context) error {
	m.admissions = admission.API{Auth: m.auth, Launchers: m.launchers}
	if m.agents != nil {
		m.admissions.Expel = m.agents.Expel
	}
	m.server = m.serverConfig()
	return nil
}

// serverConfig connects the HTTP server with the other parts.
func (m *Master) serverConfig() server.Config {
	cfg := m.parts.Config
	c := server.Config{
		Identity: m.identity, Certificate: m.certificate, Accounts: m.auth, Admissions: m.admissions,
		Workspaces: m.workspaces, Templates: m.templates, Models: m.models, Tasks: m.tasks, Contexts: m.contexts, Queue: m.rm, Machines: m.rm, Launches: m.launchers,
		MasterLog: m.ring, Binaries: m.binaries, Settings: cfg.Printable, FeatureSwitches: cfg.FeatureSwitches,
		Health: m.checkLease, Readiness: guard.NewReadiness(m.log, m.readinessChecks()...), Log: m.log, Metrics: m.metrics,
		Audit:       auditAPI{m.audit},
		Harness:     &m.wheels,
		PrivateLogs: cfg.Security.Visibility == security.VisibilityPrivate, CORSOrigins: cfg.CORSOrigins, HideMetrics: !cfg.Observability.EnablePrometheus,
		TrustedProxies: cfg.Security.Proxies.Prefixes(), Limits: serverLimits(cfg.Security.Limits),
		SpoolDir: cfg.DataDir, ShellHostKey: m.shells.HostKey(), CleanUpLogs: m.cleanUpLogs,
	}
	m.boards, m.notebooks = m.newBoards(), m.newNotebooks()
	m.proxy = m.newProxy()
	c.Services = m.proxy
	c.Pages = m.newPages
	if m.agents != nil {
		c.Agents = m.agents
	}
	m.serveExperiments(&c)
	return c
}

// readinessChecks returns the conditions of readiness.
func (m *Master) readinessChecks() []guard.Check {
	return []guard.Check{
		{Name: "lease", Failure: "another master has taken over", Ask: m.checkLease},
		{Name: "store", Failure: "it cannot be written; see the master's log", Ask: m.store.Probe},
		{Name: "resource_manager", Failure: "it does not place tasks; see the master's log", Ask: m.rm.Ready},
	}
}

// checkLease returns an error if another master has taken over the store.
func (m *Master) checkLease(context.Context) error { return m.lease.Err() }
