// Package master assembles a master from its parts and runs it: the HTTP server,
// tasks, users, logs, and what runs the tasks and launches machines for them.
package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

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
