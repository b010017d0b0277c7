// Package host runs the services of a cluster's machine that depend on its cloud: it applies the
// master's manifest, ships logs and metrics, proves the machine's identity and watches for
// interruptions. Master and agent do not depend on it.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud/host/follow"
	"github.com/det-deploy/det-deploy/cloud/host/journal"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
	"github.com/det-deploy/det-deploy/cloud/host/notice"
	"github.com/det-deploy/det-deploy/cloud/host/socket"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Role is the role of a machine in its cluster.
type Role string

// The roles.
const (
	Master Role = "master"
	Agent  Role = "agent"
)

// cursorFile stores the journal cursor of the last shipped entry.
const cursorFile = "/var/lib/det-deploy/journal.cursor"

// Config is the configuration that a machine receives at its first boot.
type Config struct {
	Role    Role
	Cluster string
	// Cloud is the machine's platform.
	Cloud Cloud
	// Bucket is the control bucket. It is empty for an agent.
	Bucket string
	// Logs is the log group, or empty if logs are not shipped. Metrics enables metrics. Both apply
	// to agents; a master's machine takes them from its manifest.
	Logs    string
	Metrics bool
	Log     *slog.Logger
}

// Run runs the host services until ctx is done, or until the program must restart with another
// version or other settings.
func Run(ctx context.Context, c Config) error {
	h := &host{Config: c, id: c.Cloud.Identity()}
	h.Log.Info("host services started", "role", c.Role, "cluster", c.Cluster, "instance_id", h.id.Instance, "region", h.id.Region)
	ctx, h.again = context.WithCancel(ctx)
	defer h.again()
	g, ctx := errgroup.WithContext(ctx)
	if c.Role == Master {
		f, err := h.newFollower()
		if err != nil {
			return err
		}
		g.Go(func() error {
			defer h.again() // the machine serves no purpose without its master
			return f.Run(ctx)
		})
	}
	g.Go(func() error { return h.watchSelf(ctx) })
	err := h.serveAgent(ctx, g)
	if err == nil {
		err = h.startReports(ctx, g)
	}
	if err != nil {
		h.again()
	}
	return errors.Join(err, g.Wait())
}

// host is the state of the running host services.
type host struct {
	Config

	id Identity
	// again cancels all services so that the program restarts.
	again context.CancelFunc
	// settled reports whether Logs, Metrics and proxy are in use.
	settled bool
	// proxy is the checksum of the proxies' environment file.
	proxy string
}

func (h *host) newFollower() (*follow.Follower, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
	}
	f, err := follow.New(follow.Config{
		Cluster: h.Cluster, Instance: h.id.Instance, Arch: runtime.GOARCH, Self: self,
		Bucket: h.Cloud.Bucket(h.Bucket), Units: Systemd{}, Tell: h.settleReporting, Log: h.Log, Now: time.Now,
		Well: func(ctx context.Context, m manifest.Health) error { return follow.Well(ctx, "", m) },
	})
	h.settled = true
	return f, err
}

// settleReporting takes over a manifest's settings for logs, metrics and proxies. It reports whether
// settings already in use have changed, which requires a restart.
func (h *host) settleReporting(m manifest.Manifest) (anew bool) {
	if h.settled {
		return m.Logs != h.Logs || m.Metrics != h.Metrics || m.Files[manifest.ProxyFile].SHA256 != h.proxy
	}
	h.Logs, h.Metrics, h.proxy = m.Logs, m.Metrics, m.Files[manifest.ProxyFile].SHA256
	return false
}

// watchSelf returns when the executable was replaced, as by an agent that upgrades to its master's
// version.
func (h *host) watchSelf(ctx context.Context) error {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if path, err := os.Readlink("/proc/self/exe"); err == nil && strings.HasSuffix(path, " (deleted)") {
			h.Log.Info("program was replaced; starting the new one")
			h.again()
			return nil
		}
	}
}

// serveAgent provides the machine's identity and interruption notices to the agent.
func (h *host) serveAgent(ctx context.Context, g *errgroup.Group) error {
	watch := notice.New(h.Cloud.Notices, h.Log, time.Now)
	g.Go(func() error { return watch.Run(ctx) })
	if h.Role != Agent {
		return nil
	}
	l, err := socket.Listen(ctx, machine.Socket)
	if err != nil {
		return err
	}
	s := &socket.Server{Notices: watch, Log: h.Log, Prove: h.Cloud.Prover()}
	g.Go(func() error { return s.Serve(ctx, l) })
	return nil
}

// startReports starts shipping the journal and the machine's metrics.
func (h *host) startReports(ctx context.Context, g *errgroup.Group) error {
	if h.Logs != "" {
		s, err := journal.New(journal.Config{
			Instance: h.id.Instance, Sink: h.Cloud.Logs(h.Logs),
			Open: journal.Open, CursorFile: cursorFile, Log: h.Log,
		})
		if err != nil {
			return err
		}
		g.Go(func() error { return s.Run(ctx) })
	}
	if h.Metrics {
		r := &metrics.Reporter{
			Sink: h.Cloud.Points(), Disks: []string{"/", manifest.DataDir}, Log: h.Log,
		}
		g.Go(func() error { return r.Run(ctx) })
	}
	return nil
}
